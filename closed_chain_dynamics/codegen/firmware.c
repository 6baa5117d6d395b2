/* Checks, and what is put together from several generated functions. */
#define NEWTON_STEPS 2

static int finite_numbers(const real *x, int n) {
  int ok = 1, i;
  for (i = 0; i < n; ++i) ok &= (x[i] - x[i]) == 0;
  return ok;
}

static int positive_numbers(const real *x, int n) {
  int ok = 1, i;
  for (i = 0; i < n; ++i) ok &= x[i] > 0;
  return ok;
}

static enum model_status slopes(const real *q, const real *v, const real *u, const real *tau,
                                real *a, real *rate) {
  real x[NQ + 2 * NV + NA + 1], y[NV + NF + 1];
  int i;
  for (i = 0; i < NQ; ++i) x[i] = q[i];
  for (i = 0; i < NV; ++i) x[NQ + i] = v[i];
  for (i = 0; i < NA; ++i) x[NQ + NV + i] = tau[i];
  if (!finite_numbers(x, NQ + NV + NA)) return MODEL_NOT_FINITE;
  forward_dynamics(x, y);
  for (i = 0; i < NV; ++i) a[i] = y[i];
  for (i = 0; i < NV; ++i) x[NQ + NV + i] = u[i];
  local_rate(x, rate);
  return positive_numbers(y + NV, NF_OPEN) && finite_numbers(a, NV) ? MODEL_OK : MODEL_PIVOT;
}

static void moved(const real *q, const real *u, real *out) {
  real x[NQ + NV + 1];
  int i;
  for (i = 0; i < NQ; ++i) x[i] = q[i];
  for (i = 0; i < NV; ++i) x[NQ + i] = u[i];
  advance(x, out);
}

enum model_status model_project(model_real *q, model_real *v) {
#if LOOPS
  real x[NQ + NV + 1], y[NQ + NV + NN + NS + 1];
  int i, n;
  for (i = 0; i < NQ; ++i) x[i] = q[i];
  for (i = 0; i < NV; ++i) x[NQ + i] = v[i];
  if (!finite_numbers(x, NQ + NV)) return MODEL_NOT_FINITE;
  for (n = 0; n < NEWTON_STEPS; ++n) {
    newton_step(x, y);
    for (i = 0; i < NQ; ++i) x[i] = y[i];
    if (!positive_numbers(y + NQ, NN)) return MODEL_PIVOT;
  }
  settle_velocity(x, y);
  for (i = 0; i < NQ; ++i) q[i] = x[i];
  for (i = 0; i < NV; ++i) v[i] = y[i];
  return positive_numbers(y + NV, NS) ? MODEL_OK : MODEL_LOOP_OPEN;
#else
  (void)newton_step;
  (void)settle_velocity;
  return finite_numbers(q, NQ) && finite_numbers(v, NV) ? MODEL_OK : MODEL_NOT_FINITE;
#endif
}

enum model_status model_step(model_real *q, model_real *v, const model_real *tau, model_real dt) {
  real u[NV + 1], a[NV + 1], rate[NV + 1], next[NQ + 1], x[NQ + 2 * NV + 1];
  enum model_status status;
  int i;
  for (i = 0; i < NV; ++i) u[i] = 0;
  status = slopes(q, v, u, tau, a, rate);
  if (status != MODEL_OK) return status;
  for (i = 0; i < NQ; ++i) x[i] = q[i];
  for (i = 0; i < NV; ++i) x[NQ + i] = v[i] += dt * a[i];
  for (i = 0; i < NV; ++i) x[NQ + NV + i] = 0;
  local_rate(x, rate);
  for (i = 0; i < NV; ++i) u[i] = dt * rate[i];
  moved(q, u, next);
  for (i = 0; i < NQ; ++i) q[i] = next[i];
  return model_project(q, v);
}

enum model_status model_step_rk4(model_real *q, model_real *v, const model_real *tau,
                                 model_real dt) {
  real u[NV + 1], sq[NQ + 1], sv[NV + 1], a[NV + 1], rate[NV + 1], du[NV + 1], dv[NV + 1];
  int i, stage;
  for (i = 0; i < NQ; ++i) sq[i] = q[i];
  for (i = 0; i < NV; ++i) sv[i] = v[i], u[i] = du[i] = dv[i] = 0;
  for (stage = 0; stage < 4; ++stage) {
    const real h = stage == 2 ? dt : dt / 2, share = (real)(stage == 0 || stage == 3 ? 1 : 2);
    const enum model_status status = slopes(sq, sv, u, tau, a, rate);
    if (status != MODEL_OK) return status;
    for (i = 0; i < NV; ++i) {
      du[i] += share * rate[i];
      dv[i] += share * a[i];
      u[i] = h * rate[i];
      sv[i] = v[i] + h * a[i];
    }
    if (stage < 3) moved(q, u, sq);
  }
  for (i = 0; i < NV; ++i) {
    u[i] = dt / 6 * du[i];
    v[i] += dt / 6 * dv[i];
  }
  moved(q, u, sq);
  for (i = 0; i < NQ; ++i) q[i] = sq[i];
  return model_project(q, v);
}
