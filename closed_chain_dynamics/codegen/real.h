/* What `real` is: one number, or LANES numbers of as many states side by side. */
#ifndef CLOSED_CHAIN_REAL_H
#define CLOSED_CHAIN_REAL_H
#include <math.h>
#ifndef LANES
#define LANES 1
#endif
#if defined(__GNUC__)
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE
#endif

#if LANES == 1 && defined(SINGLE_PRECISION)
typedef float real;
#define real_constant(c) ((real)(c))
#define real_sqrt sqrtf
#define real_sin sinf
#define real_cos cosf
#define real_tanh tanhf
#define real_atan2 atan2f
#define real_abs fabsf
#elif LANES == 1
typedef double real;
#define real_constant(c) (c)
#define real_sqrt sqrt
#define real_sin sin
#define real_cos cos
#define real_tanh tanh
#define real_atan2 atan2
#define real_abs fabs
#endif

#if LANES == 1
#define real_one real_constant(1.0)
#define real_min(a, b) ((a) < (b) ? (a) : (b))
#define real_max(a, b) ((a) > (b) ? (a) : (b))
#define real_less(a, b) ((real)((a) < (b)))
#define real_equal(a, b) ((real)((a) == (b)))
#define real_not(a) ((real)((a) == 0))
#define real_if(a, b) ((a) != 0 ? (b) : 0)
#define real_sign(a) ((real)(((a) > 0) - ((a) < 0)))
#else
typedef double real __attribute__((vector_size(8 * LANES)));
typedef long long mask __attribute__((vector_size(8 * LANES)));
static const real real_zero = {0.0};
#define real_constant(c) ((c) - real_zero)
#define real_one real_constant(1.0)
static inline real real_pick(mask m, real a, real b) { return (real)((m & (mask)a) | (~m & (mask)b)); }
#define real_min(a, b) real_pick((a) < (b), (a), (b))
#define real_max(a, b) real_pick((a) > (b), (a), (b))
#define real_less(a, b) ((real)((mask)((a) < (b)) & (mask)real_one))
#define real_equal(a, b) ((real)((mask)((a) == (b)) & (mask)real_one))
#define real_not(a) real_equal(a, real_zero)
#define real_if(a, b) ((real)((mask)((a) != real_zero) & (mask)(b)))
#define real_sign(a) (real_less(real_zero, a) - real_less(a, real_zero))
#define real_abs(a) real_max(a, -(a))
#define EACH(name, f)                                                                            \
  static inline real name(real a) {                                                              \
    for (int k = 0; k < LANES; ++k) a[k] = f(a[k]);                                              \
    return a;                                                                                    \
  }
EACH(real_tanh, tanh)
static inline real real_atan2(real a, real b) {
  for (int k = 0; k < LANES; ++k) a[k] = atan2(a[k], b[k]);
  return a;
}
#if defined(__AVX512F__) && LANES == 8
#include <immintrin.h>
#define real_sqrt(a) ((real)_mm512_sqrt_pd((__m512d)(a)))
#elif defined(__AVX__) && LANES == 4
#include <immintrin.h>
#define real_sqrt(a) ((real)_mm256_sqrt_pd((__m256d)(a)))
#else
EACH(real_sqrt, sqrt)
#endif
#if defined(VECTOR_MATH) && LANES == 8
real _ZGVeN8v_sin(real);
real _ZGVeN8v_cos(real);
#define real_sin _ZGVeN8v_sin
#define real_cos _ZGVeN8v_cos
#elif defined(VECTOR_MATH) && LANES == 4
real _ZGVdN4v_sin(real);
real _ZGVdN4v_cos(real);
#define real_sin _ZGVdN4v_sin
#define real_cos _ZGVdN4v_cos
#else
EACH(real_sin, sin)
EACH(real_cos, cos)
#endif
#endif

/* Sines and cosines of some inputs: of one state, several at a time where that can be. The k-th of
   these inputs is x[i]. */
#if defined(VECTOR_MATH) && LANES == 1
#ifdef __AVX512F__
#define TURNS 8
#define many_sines _ZGVeN8v_sin
#define many_cosines _ZGVeN8v_cos
#else
#define TURNS 4
#define many_sines _ZGVdN4v_sin
#define many_cosines _ZGVdN4v_cos
#endif
#define real_sine_of(k, i) t[2 * (k)]
#define real_cosine_of(k, i) t[2 * (k) + 1]
typedef double several __attribute__((vector_size(8 * TURNS)));
several many_sines(several);
several many_cosines(several);
/* Out of line: a compiler that knows n moves every angle on its own, which takes longer. */
static OUT_OF_LINE void real_turns(int n, const int *at, const real *x, real *t) {
  for (int k = 0; k < n; k += TURNS) {
    several angles = {0.0};
    for (int i = 0; i < TURNS && k + i < n; ++i) angles[i] = x[at[k + i]];
    const several sines = many_sines(angles), cosines = many_cosines(angles);
    for (int i = 0; i < TURNS && k + i < n; ++i)
      t[2 * (k + i)] = sines[i], t[2 * (k + i) + 1] = cosines[i];
  }
}
#else
#define real_sine_of(k, i) real_sin(x[i])
#define real_cosine_of(k, i) real_cos(x[i])
#define real_turns(n, at, x, t) (void)(t)
#endif
#endif
