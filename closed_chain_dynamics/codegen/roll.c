/* Steps of a simulation for many states, LANES at a time: forward_dynamics, local_rate, advance,
   newton_step and settle_velocity stand above. NQ, NV, NA sizes; NF, NN, NS margins. */
#define NEWTON_STEPS 2

struct state {
  real q[NQ + 1], v[NV + 1], tau[NA + 1];
};

static verdict slopes(const real *q, const real *v, const real *u, const real *tau, real *a,
                      real *rate) {
  real x[NQ + 2 * NV + NA + 1], y[NV + NF + 1];
  verdict ok = all_true;
  for (int i = 0; i < NQ; ++i) x[i] = q[i];
  for (int i = 0; i < NV; ++i) x[NQ + i] = v[i];
  for (int i = 0; i < NA; ++i) x[NQ + NV + i] = tau[i];
  forward_dynamics(x, y);
  for (int i = 0; i < NV; ++i) a[i] = y[i];
  for (int i = NV; i < NV + NF_OPEN; ++i) ok &= y[i] > real_constant(0.0);
  for (int i = 0; i < NV; ++i) ok &= (a[i] - a[i]) == real_constant(0.0);
  for (int i = 0; i < NV; ++i) x[NQ + NV + i] = u[i];
  local_rate(x, rate);
  return ok;
}

static void moved(const real *q, const real *u, real *out) {
  real x[NQ + NV + 1];
  for (int i = 0; i < NQ; ++i) x[i] = q[i];
  for (int i = 0; i < NV; ++i) x[NQ + i] = u[i];
  advance(x, out);
}

static verdict close_loops(struct state *s) {
  verdict ok = all_true;
#if LOOPS
  real x[NQ + NV + 1], y[NQ + NV + NN + NS + 1];
  for (int i = 0; i < NQ; ++i) x[i] = s->q[i];
  for (int n = 0; n < NEWTON_STEPS; ++n) {
    newton_step(x, y);
    for (int i = 0; i < NQ; ++i) x[i] = y[i];
    for (int i = NQ; i < NQ + NN; ++i) ok &= y[i] > real_constant(0.0);
  }
  for (int i = 0; i < NQ; ++i) s->q[i] = x[i];
  for (int i = 0; i < NV; ++i) x[NQ + i] = s->v[i];
  settle_velocity(x, y);
  for (int i = 0; i < NV; ++i) s->v[i] = y[i];
  for (int i = NV; i < NV + NS; ++i) ok &= y[i] > real_constant(0.0);
#else
  (void)s;
#endif
  return ok;
}

static verdict euler(struct state *s, double dt) {
  real u[NV + 1], a[NV + 1], rate[NV + 1], q[NQ + 1];
  for (int i = 0; i < NV; ++i) u[i] = real_constant(0.0);
  verdict ok = slopes(s->q, s->v, u, s->tau, a, rate);
  for (int i = 0; i < NV; ++i) s->v[i] += dt * a[i];
  real x[NQ + 2 * NV + 1];
  for (int i = 0; i < NQ; ++i) x[i] = s->q[i];
  for (int i = 0; i < NV; ++i) x[NQ + i] = s->v[i], x[NQ + NV + i] = u[i];
  local_rate(x, rate);
  for (int i = 0; i < NV; ++i) u[i] = dt * rate[i];
  moved(s->q, u, q);
  for (int i = 0; i < NQ; ++i) s->q[i] = q[i];
  return ok & close_loops(s);
}

static verdict rk4(struct state *s, double dt) {
  static const double share[4] = {1.0, 2.0, 2.0, 1.0};
  real u[NV + 1], q[NQ + 1], v[NV + 1], a[NV + 1], rate[NV + 1], du[NV + 1], dv[NV + 1];
  verdict ok = all_true;
  for (int i = 0; i < NQ; ++i) q[i] = s->q[i];
  for (int i = 0; i < NV; ++i) v[i] = s->v[i], u[i] = du[i] = dv[i] = real_constant(0.0);
  for (int stage = 0; stage < 4; ++stage) {
    ok &= slopes(q, v, u, s->tau, a, rate);
    const double h = stage == 2 ? dt : 0.5 * dt;
    for (int i = 0; i < NV; ++i) {
      du[i] += share[stage] * rate[i];
      dv[i] += share[stage] * a[i];
      u[i] = h * rate[i];
      v[i] = s->v[i] + h * a[i];
    }
    if (stage < 3) moved(s->q, u, q);
  }
  for (int i = 0; i < NV; ++i) {
    u[i] = dt / 6.0 * du[i];
    s->v[i] += dt / 6.0 * dv[i];
  }
  moved(s->q, u, q);
  for (int i = 0; i < NQ; ++i) s->q[i] = q[i];
  return ok & close_loops(s);
}

/* torques: (n, NA) held, or (n, steps, NA) where `changing`; every `every`-th state is kept. */
void roll_many(long first, long last, long steps, long every, int changing, int use_rk4, double dt,
               const double *q, const double *v, const double *tau, double *q_out, double *v_out,
               long *done) {
  const long kept = steps / every;
  for (long row = first; row < last; row += LANES) {
    struct state s;
    verdict ok = all_true;
    for (int k = 0; k < LANES; ++k) {
      const long from = row + k < last ? row + k : last - 1;
      for (int i = 0; i < NQ; ++i) lane(s.q[i], k) = q[from * NQ + i];
      for (int i = 0; i < NV; ++i) lane(s.v[i], k) = v[from * NV + i];
      if (row + k < last) done[row + k] = steps;
    }
    for (long step = 0; step < steps; ++step) {
      if (step == 0 || changing)
        for (int k = 0; k < LANES; ++k) {
          const long from = row + k < last ? row + k : last - 1;
          const double *torque = tau + (changing ? from * steps + step : from) * NA;
          for (int i = 0; i < NA; ++i) lane(s.tau[i], k) = torque[i];
        }
      for (int i = 0; i < NA; ++i) ok &= (s.tau[i] - s.tau[i]) == real_constant(0.0);
      ok &= use_rk4 ? rk4(&s, dt) : euler(&s, dt);
      int alive = 0;
      for (int k = 0; k < LANES && row + k < last; ++k) {
        if (is_true(ok, k)) alive = 1;
        else if (done[row + k] > step) done[row + k] = step;
        if ((step + 1) % every == 0) {
          const long at = (row + k) * kept + (step + 1) / every - 1;
          for (int i = 0; i < NQ; ++i) q_out[at * NQ + i] = is_true(ok, k) ? lane(s.q[i], k) : NAN;
          for (int i = 0; i < NV; ++i) v_out[at * NV + i] = is_true(ok, k) ? lane(s.v[i], k) : NAN;
        }
      }
      if (!alive) {
        for (int k = 0; k < LANES && row + k < last; ++k)
          for (long at = (step + 1) / every; at < kept; ++at) {
            for (int i = 0; i < NQ; ++i) q_out[((row + k) * kept + at) * NQ + i] = NAN;
            for (int i = 0; i < NV; ++i) v_out[((row + k) * kept + at) * NV + i] = NAN;
          }
        break;
      }
    }
  }
}
