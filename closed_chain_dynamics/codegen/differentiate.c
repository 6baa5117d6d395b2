/* Derivatives of forward dynamics by the theorem of implicit functions, all directions at once.

   Accelerations a make F = tau_O - motors - J_C^T lambda and r = J_C a + J_C' v vanish. Slopes of F
   and r at fixed a and lambda come from recursions over the tree (slope_columns.py) and from what
   acts between two bodies (slope_pairs.py); then theta_S is eliminated, e = -J_S^-1 dr, and
   A da_G = -W^T (dF + M e), da = W da_G + e with e in the rows of theta_S. Rows of J_C are pivoted
   as the numbers ask; a margin says whether theta_S had a good choice. */
#include <string.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#define SLOPES (2 * NV + NA)
#define WIDE (SLOPES + NG) /* a row of what is asked for: slopes by q, v and torques, then of W */
#if defined(__AVX512F__)
#define PACK 8 /* numbers of a vector */
#else
#define PACK 4
#endif
#define PADDED(n) ((n) / PACK * PACK + 2 * PACK) /* room for whole vectors from anywhere in a row */
#define SMALL_PIVOT 1e-7 /* share of the largest entry of J_C below which a pivot counts as lost */
#define GROWTH 1e3       /* entries of H above which digits would be lost */
#define INDEFINITE 1e-13 /* share of its diagonal below which a pivot of A is a massless motion */

typedef struct {
  double numbers[NUMBERS + 1];
  double F[NV][PADDED(SLOPES)];                 /* dF by q, v and, its sign turned, by torques */
  double M[NV][PADDED(NV)];
  double J[MOST_ROWS + 1][PADDED(3 * MOST_DOFS)]; /* J_C, dr by q and by v of one cluster, theta_S first */
  double lambda[ROWS + 1];
  double e[NV][PADDED(SLOPES)]; /* rows of theta_S */
  double H[NV][PADDED(MOST_DOFS)]; /* rows of theta_S, by theta_G of the cluster */
  double Y[NG + 1][PADDED(NV)]; /* W^T M */
  double A[NG + 1][PADDED(NG)];
  double X[NG + 1][PADDED(SLOPES)];
} room;

static inline double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

static inline double dot_3(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void add(double *restrict to, double factor, const double *restrict from, int n) {
  for (int i = 0; i < n; ++i) to[i] += factor * from[i];
}

/* to += the sum of factors times rows; what is summed stays in registers, four vectors at a time,
   and rows are padded to whole vectors. */
typedef double pack __attribute__((vector_size(8 * PACK), aligned(8)));

static void add_rows(double *to, const double *factor, const double *const *row, int rows, int n) {
  int i = 0;
  for (; i + 3 * PACK < n; i += 4 * PACK) {
    pack *at = (pack *)(to + i), a = at[0], b = at[1], c = at[2], d = at[3];
    for (int r = 0; r < rows; ++r) {
      const pack *x = (const pack *)(row[r] + i);
      a += factor[r] * x[0], b += factor[r] * x[1], c += factor[r] * x[2], d += factor[r] * x[3];
    }
    at[0] = a, at[1] = b, at[2] = c, at[3] = d;
  }
  for (; i < n; i += PACK) {
    pack a = *(pack *)(to + i);
    for (int r = 0; r < rows; ++r) a += factor[r] * *(const pack *)(row[r] + i);
    *(pack *)(to + i) = a;
  }
}

static inline const double *column(const room *w, int j) { return w->numbers + COLUMN * j; }

static void cross_force(const double *s, const double *f, double *out) {
  const double *u = s, *o = s + 3, *n = f + 3;
  out[0] = o[1] * f[2] - o[2] * f[1];
  out[1] = o[2] * f[0] - o[0] * f[2];
  out[2] = o[0] * f[1] - o[1] * f[0];
  out[3] = o[1] * n[2] - o[2] * n[1] + u[1] * f[2] - u[2] * f[1];
  out[4] = o[2] * n[0] - o[0] * n[2] + u[2] * f[0] - u[0] * f[2];
  out[5] = o[0] * n[1] - o[1] * n[0] + u[0] * f[1] - u[1] * f[0];
}

/* The tree: M, and dF of what its motion needs. */
static void differentiate_tree(room *w) {
  for (int j = 0; j < NV; ++j) {
    const double *c = column(w, j);
    for (int n = carriers_from[j]; n < carriers_from[j + 1]; ++n) {
      const int k = carriers[n];
      const double *d = column(w, k);
      w->F[k][j] = dot(d + AT_S, c + AT_P_Q);
      w->F[k][NV + j] = dot(d + AT_S, c + AT_P_V);
      w->F[j][k] = dot(c + AT_U, d + AT_PSI_DD) + dot_3(c + AT_Z, d + AT_PSI_D + 3);
      w->F[j][NV + k] = dot(c + AT_U, d + AT_UPSILON) + dot_3(c + AT_Z, d + AT_S + 3);
      w->M[k][j] = w->M[j][k] = dot(d + AT_S, c + AT_U);
    }
    for (int n = own_from[j]; n < own_from[j + 1]; ++n) {
      const int k = own[n];
      const double *d = column(w, k);
      w->F[j][k] = dot(c + AT_U, d + AT_PSI_DD) + dot_3(c + AT_Z, d + AT_PSI_D + 3);
      w->F[j][NV + k] = dot(c + AT_U, d + AT_UPSILON) + dot_3(c + AT_Z, d + AT_S + 3);
      w->M[j][k] = dot(d + AT_S, c + AT_U);
    }
    w->M[j][j] += rotor[j];
  }
}

/* T_0 S + T_1 psi' + T_2 psi'' by q, and T_1 S + T_2 upsilon by v. */
static inline double by_q(const double *T_0, const double *T_1, const double *T_2, const double *c) {
  return dot(T_0, c + AT_S) + dot(T_1, c + AT_PSI_D) + dot(T_2, c + AT_PSI_DD);
}

static inline double by_v(const double *T_1, const double *T_2, const double *c) {
  return dot(T_1, c + AT_S) + dot(T_2, c + AT_UPSILON);
}

/* Rows of J_C and of dr of one cluster, by theta_S, then theta_G. */
static void gather_rows(room *w, int cluster, const double *const *pair, const double *coupling) {
  const int n = dofs_from[cluster + 1] - dofs_from[cluster], first = cluster_row[cluster];
  for (int i = 0; i < cluster_row[cluster + 1] - first; ++i)
    for (int k = 0; k < 3 * n; ++k) w->J[i][k] = 0.0;
  for (int p = 0; p < PAIRS; ++p) {
    const int at = pair_row[p] - first;
    if (!pair_rows[p] || at < 0 || pair_row[p] >= cluster_row[cluster + 1]) continue;
    const double *rows = pair[p] + (pair_acts[p] ? 114 : 0);
    for (int m = way_from[p]; m < way_from[p + 1]; ++m) {
      const double *c = column(w, way[m]);
      const double sign = way_sign[m];
      const int k = local[way[m]];
      for (int i = 0; i < pair_rows[p]; ++i) {
        const double *C = rows + 54 * i;
        w->J[at + i][k] = sign * dot(C, c + AT_S);
        w->J[at + i][n + k] = sign * by_q(C + 6, C + 12, C, c);
        w->J[at + i][2 * n + k] = sign * by_v(C + 12, C, c);
      }
    }
  }
  for (int e = 0; e < COUPLINGS; ++e) {
    const int at = coupling_row[e] - first;
    if (at < 0 || coupling_row[e] >= cluster_row[cluster + 1]) continue;
    for (int t = terms_from[e]; t < terms_from[e + 1]; ++t) {
      const int k = local[terms[t]];
      w->J[at][k] += coupling[4 * t];
      w->J[at][n + k] += coupling[4 * t + 1];
      w->J[at][2 * n + k] += coupling[4 * t + 2];
    }
  }
}

/* H, e and lambda of one cluster; 0 where theta_S has no good choice. */
static int eliminate(room *w, int cluster, const double *rest) {
  const int first = cluster_row[cluster], rows = cluster_row[cluster + 1] - first;
  const int r = rank[cluster], n = dofs_from[cluster + 1] - dofs_from[cluster];
  const int *dof = dofs + dofs_from[cluster];
  double *at[MOST_ROWS + 1];
  int number[MOST_ROWS + 1];
  double size = 0.0, y[MOST_ROWS + 1], factor[MOST_ROWS + 1];
  const double *done[MOST_ROWS + 1];
  for (int i = 0; i < rows; ++i) {
    at[i] = w->J[i], number[i] = first + i, w->lambda[first + i] = 0.0;
    for (int k = 0; k < n; ++k) size = fmax(size, fabs(at[i][k]));
  }
  for (int j = 0; j < r; ++j) {
    int best = j;
    for (int i = j + 1; i < rows; ++i)
      if (fabs(at[i][j]) > fabs(at[best][j])) best = i;
    if (!(fabs(at[best][j]) > SMALL_PIVOT * size)) return 0;
    double *row = at[best];
    const int which = number[best];
    at[best] = at[j], number[best] = number[j], at[j] = row, number[j] = which;
    for (int i = j + 1; i < rows; ++i) {
      const double share = at[i][j] / row[j];
      at[i][j] = share;
      if (share != 0.0) add(at[i] + j + 1, -share, row + j + 1, 3 * n - j - 1);
    }
  }
  for (int j = 0; j < r; ++j) { /* U^T y = rest, then L^T lambda = y */
    y[j] = rest[dof[j]];
    for (int i = 0; i < j; ++i) y[j] -= at[i][j] * y[i];
    y[j] /= at[j][j];
  }
  for (int j = r - 1; j >= 0; --j) {
    for (int i = j + 1; i < r; ++i) y[j] -= at[i][j] * y[i];
    w->lambda[number[j]] = y[j];
  }
  double growth = 0.0;
  for (int j = r - 1; j >= 0; --j) {
    for (int i = j + 1; i < r; ++i) factor[i] = -at[j][i], done[i] = at[i] + r;
    add_rows(at[j] + r, factor + j + 1, done + j + 1, r - j - 1, 3 * n - r);
    const double inverse = 1.0 / at[j][j];
    for (int k = r; k < 3 * n; ++k) at[j][k] *= inverse;
    double *H = w->H[dof[j]], *e = w->e[dof[j]];
    for (int k = r; k < n; ++k) H[k - r] = -at[j][k], growth += H[k - r] * H[k - r];
    for (int k = 0; k < n; ++k) e[dof[k]] = -at[j][n + k], e[NV + dof[k]] = -at[j][2 * n + k];
  }
  return growth <= GROWTH * GROWTH;
}

/* dF and M of what acts between two bodies. */
static void differentiate_pair(room *w, int p, const double *numbers, const int *is_carried) {
  const int n = way_from[p + 1] - way_from[p], acts = pair_acts[p];
  const double *rows = numbers + (acts ? 114 : 0);
  double wrench[6] = {0.0}, T[36] = {0.0}, near[6], far[6], far_v[6], pushed[6], turned[6];
  if (acts) {
    for (int i = 0; i < 6; ++i) wrench[i] = numbers[i];
    for (int i = 0; i < 36; ++i) T[i] = numbers[6 + i];
  }
  for (int i = 0; i < pair_rows[p]; ++i) {
    add(wrench, w->lambda[pair_row[p] + i], rows + 54 * i, 6);
    add(T, w->lambda[pair_row[p] + i], rows + 54 * i + 18, 36);
  }
  for (int b = 0; b < n; ++b) {
    const int j = way[way_from[p] + b];
    const double *c = column(w, j), sign = way_sign[way_from[p] + b];
    for (int i = 0; i < 6; ++i) {
      far[i] = sign * dot(T + 6 * i, c + AT_S);
      if (acts) {
        const double *T_1 = numbers + 42 + 6 * i, *T_2 = numbers + 78 + 6 * i;
        far[i] += sign * (dot(T_1, c + AT_PSI_D) + dot(T_2, c + AT_PSI_DD));
        far_v[i] = sign * by_v(T_1, T_2, c);
        pushed[i] = sign * dot(T_2, c + AT_S);
      }
    }
    /* a wrench between two bodies that move together turns with them */
    cross_force(c + AT_S, wrench, turned);
    for (int i = 0; i < 6; ++i) {
      near[i] = far[i] - (sign > 0.0 ? turned[i] : 0.0);
      far[i] += sign > 0.0 ? 0.0 : turned[i];
    }
    for (int a = 0; a < n; ++a) {
      const int k = way[way_from[p] + a];
      const double *S = column(w, k) + AT_S, other = way_sign[way_from[p] + a];
      w->F[k][j] -= other * dot(S, is_carried[a * n + b] ? near : far);
      if (acts) {
        w->F[k][NV + j] -= other * dot(S, far_v);
        w->M[k][j] -= other * dot(S, pushed);
      }
    }
  }
  const double *lever = rows + 54 * pair_rows[p];
  for (int m = pair_motors_from[p]; m < pair_motors_from[p + 1]; ++m, lever += 6)
    for (int a = way_from[p]; a < way_from[p + 1]; ++a)
      w->F[way[a]][2 * NV + pair_motors[m]] -= way_sign[a] * dot(column(w, way[a]), lever);
}

/* A = W^T M W and -W^T (dF + M e), then all slopes; 0 where A is not positive. */
static int solve(room *w, double (*out)[WIDE]) {
  const double *row[NV + 1];
  double factor[NV + 1], diagonal[NG + 1], inverse[NG + 1];
  for (int c = 0; c < CLUSTERS; ++c) {
    const int *S = dofs + dofs_from[c], r = rank[c], *G = S + r;
    for (int g = cluster_G[c]; g < cluster_G[c + 1]; ++g) {
      const int own = g - cluster_G[c];
      for (int s = 0; s < r; ++s) factor[s] = w->H[S[s]][own], row[s] = w->M[S[s]];
      memcpy(w->Y[g], w->M[G[own]], sizeof w->Y[g]);
      add_rows(w->Y[g], factor, row, r, NV);
      for (int s = 0; s < r; ++s) row[s] = w->F[S[s]];
      memcpy(w->X[g], w->F[G[own]], sizeof w->X[g]);
      add_rows(w->X[g], factor, row, r, SLOPES);
    }
  }
  for (int g = 0; g < NG; ++g) {
    for (int c = 0; c < CLUSTERS; ++c) {
      const int *S = dofs + dofs_from[c], r = rank[c], *G = S + r, first = cluster_G[c];
      const int n = cluster_G[c + 1] - first;
      for (int k = 0; k < n; ++k) w->A[g][first + k] = w->Y[g][G[k]];
      for (int s = 0; s < r; ++s) factor[s] = w->Y[g][S[s]], row[s] = w->H[S[s]];
      add_rows(w->A[g] + first, factor, row, r, n);
      for (int s = 0; s < r; ++s) row[s] = w->e[S[s]];
      add_rows(w->X[g], factor, row, r, 2 * NV);
    }
  }
  for (int j = 0; j < NG; ++j) diagonal[j] = w->A[j][j];
  for (int j = 0; j < NG; ++j) { /* L D L^T, with L below the diagonal */
    const double *own = w->A[j], pivot = own[j];
    if (!(pivot > INDEFINITE * diagonal[j])) return 0;
    inverse[j] = 1.0 / pivot;
    for (int i = j + 1; i < NG; ++i) {
      const double share = w->A[i][j] * inverse[j];
      add(w->A[i] + j + 1, -share, own + j + 1, NG - j - 1);
      w->A[i][j] = share;
    }
    for (int k = 0; k < j; ++k) factor[k] = -own[k], row[k] = w->X[k];
    add_rows(w->X[j], factor, row, j, SLOPES);
  }
  for (int j = NG - 1; j >= 0; --j) {
    for (int k = 0; k < SLOPES; ++k) w->X[j][k] *= -inverse[j]; /* the sign of -W^T (dF + M e) */
    for (int i = j + 1; i < NG; ++i) factor[i] = -w->A[i][j], row[i] = w->X[i];
    add_rows(w->X[j], factor + j + 1, row + j + 1, NG - j - 1, SLOPES);
  }
  for (int c = 0; c < CLUSTERS; ++c) {
    const int *S = dofs + dofs_from[c], r = rank[c], *G = S + r;
    const int first = cluster_G[c], n = cluster_G[c + 1] - first;
    for (int k = 0; k < n; ++k) {
      memcpy(out[G[k]], w->X[first + k], SLOPES * sizeof(double));
      out[G[k]][SLOPES + first + k] = 1.0, row[k] = w->X[first + k];
    }
    for (int s = 0; s < r; ++s) {
      add_rows(w->e[S[s]], w->H[S[s]], row, n, SLOPES);
      memcpy(out[S[s]], w->e[S[s]], SLOPES * sizeof(double));
      memcpy(out[S[s]] + SLOPES + first, w->H[S[s]], n * sizeof(double));
    }
  }
  return 1;
}

/* Slopes by q, v and torques, and W, side by side in NV rows; a margin behind them. */
static void differentiate(const double *restrict x, double *restrict y) {
  static _Thread_local room memory;
  room *w = &memory;
  double(*out)[WIDE] = (double(*)[WIDE])y;
  const double *pair[PAIRS + 1], *rest = w->numbers + COLUMN * NV, *at = rest + NV;
  slope_numbers(x, w->numbers);
  memset(w->F, 0, sizeof w->F);
  memset(w->M, 0, sizeof w->M);
  memset(w->e, 0, sizeof w->e);
  memset(y, 0, sizeof(double) * NV * WIDE);
  y[NV * WIDE] = -1.0;
  for (int p = 0; p < PAIRS; ++p) {
    pair[p] = at;
    at += (pair_acts[p] ? 114 : 0) + 54 * pair_rows[p];
    at += 6 * (pair_motors_from[p + 1] - pair_motors_from[p]);
  }
  const double *coupling = at, *slope = at + 4 * terms_from[COUPLINGS];
  differentiate_tree(w);
  for (int c = 0; c < CLUSTERS; ++c) {
    if (!rank[c]) continue;
    gather_rows(w, c, pair, coupling);
    if (!eliminate(w, c, rest)) return;
  }
  const int *is_carried = carried;
  for (int p = 0; p < PAIRS; ++p) {
    differentiate_pair(w, p, pair[p], is_carried);
    is_carried += (way_from[p + 1] - way_from[p]) * (way_from[p + 1] - way_from[p]);
  }
  for (int e = 0; e < COUPLINGS; ++e)
    for (int t = terms_from[e]; t < terms_from[e + 1]; ++t)
      w->F[terms[t]][terms[t]] -= w->lambda[coupling_row[e]] * coupling[4 * t + 3];
  for (int k = 0; k < BY_Q; ++k) w->F[by_q_row[k]][by_q_column[k]] -= *slope++;
  for (int k = 0; k < BY_V; ++k) w->F[by_v_row[k]][NV + by_v_column[k]] -= *slope++;
  for (int k = 0; k < BY_A; ++k) w->M[by_a_row[k]][by_a_column[k]] -= *slope++;
  for (int k = 0; k < NA; ++k)
    if (tree_motor[k] >= 0) w->F[tree_motor[k]][2 * NV + k] -= 1.0;
  if (solve(w, out)) y[NV * WIDE] = 1.0;
}
