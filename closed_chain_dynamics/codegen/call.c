/* Calls one generated function FUNCTION for many states, LANES at a time.
   NX inputs, NY numbers wanted, NM margins behind them, INPUTS arrays of widths WIDTHS. */
static const int widths[INPUTS] = WIDTHS;

#if LANES == 1
typedef int verdict;
#define is_true(ok, k) (ok)
#define lane(a, k) (a)
#define all_true 1
#else
typedef mask verdict;
#define is_true(ok, k) ((ok)[k] != 0)
#define lane(a, k) (a)[k]
#define all_true (real_zero == real_zero)
#endif

static verdict evaluate(const real *restrict x, real *restrict y) {
  verdict ok = all_true;
  for (int i = 0; i < NX; ++i) ok &= (x[i] - x[i]) == real_constant(0.0);
  FUNCTION(x, y);
  for (int i = NY; i < NY + NM; ++i) ok &= y[i] > real_constant(0.0);
  for (int i = 0; i < NY; ++i) ok &= (y[i] - y[i]) == real_constant(0.0);
  return ok;
}

#if LANES == 1
int call_one(const double *restrict x, double *restrict y) {
  return evaluate(x, y);
}
#endif

void call_many(long first, long last, const double *const *in, double *out, unsigned char *ok) {
  real x[NX + 1], y[NY + NM + 1];
  for (long row = first; row < last; row += LANES) {
    for (int k = 0; k < LANES; ++k) {
      const long from = row + k < last ? row + k : last - 1;
      int at = 0;
      for (int i = 0; i < INPUTS; ++i)
        for (int j = 0; j < widths[i]; ++j) lane(x[at++], k) = in[i][from * widths[i] + j];
    }
    const verdict good = evaluate(x, y);
    for (int k = 0; k < LANES && row + k < last; ++k) {
      for (int i = 0; i < NY; ++i) out[(row + k) * NY + i] = lane(y[i], k);
      ok[row + k] = is_true(good, k) ? 1 : 0;
    }
  }
}
