/* A run of one simulation: slopes, local_rate, advance, closing and look stand above. It does what
   kernels/run.py does as long as a step is plain: taken whole or in up to COARSE parts. Where a
   pivot fails, the books ask for smaller parts, the loops stay open or an event happens, the state
   is set back to before that step, and the generic kernels take it.
   NQ, NV, NA sizes; NS margins of slopes; NE errors, of which NL are of loops; NF flips and NC
   margins of closing; NW watched coordinates, NR of which rub, NT of which count turns. */
#define COARSE 64 /* parts of a step, at most */
enum { DONE, PIVOT, ROUGH, OPEN, EVENT, NOT_FINITE };
enum { START, FIRST, DT, STEPS, RK4, TOLERANCE, STRIDE, COUNTED, LIFT, ASKED };

/* what is watched, one row for each coordinate */
struct watch {
  double lower, upper, placed, rubs, counts, direction, seen;
};

struct motion {
  double q[NQ + 1], v[NV + 1], books[2], energies[3], positions[NW + 1], rates[NW + 1], open;
};

static int is_finite(double x) { return x - x == 0.0; }

static void note(const struct watch *watched, double *slide, double *seen) {
  for (int i = 0; i < NW; ++i) {
    if (watched[i].rubs != 0.0) *slide++ = watched[i].direction;
    if (watched[i].counts != 0.0) *seen++ = watched[i].seen;
  }
}

static int stage(const double *q, const double *v, const double *u, const double *tau,
                 const struct watch *watched, double *slope) {
  double x[NQ + 2 * NV + NA + NR + NT + 1], y[NV + 2 + NS + 1];
  int ok = 1;
  memcpy(x, q, NQ * sizeof *x);
  memcpy(x + NQ, v, NV * sizeof *x);
  memcpy(x + NQ + NV, tau, NA * sizeof *x);
  note(watched, x + NQ + NV + NA, x + NQ + NV + NA + NR);
  slopes(x, y);
  memcpy(slope + NV, y, (NV + 2) * sizeof *y);
  for (int i = NV + 2; i < NV + 2 + NS; ++i) ok &= y[i] > 0.0;
  memcpy(x + NQ + NV, u, NV * sizeof *x);
  local_rate(x, slope);
  return ok;
}

static void moved(const double *q, const double *u, double *out) {
  double x[NQ + NV + 1];
  memcpy(x, q, NQ * sizeof *x);
  memcpy(x + NQ, u, NV * sizeof *x);
  advance(x, out);
}

static int euler(struct motion *s, const double *tau, const struct watch *watched, double dt) {
  double u[NV + 1] = {0.0}, slope[2 * NV + 3], x[NQ + 2 * NV + 1], q[NQ + 1];
  if (!stage(s->q, s->v, u, tau, watched, slope)) return PIVOT;
  for (int i = 0; i < NV; ++i) s->v[i] += dt * slope[NV + i];
  for (int i = 0; i < 2; ++i) s->books[i] += dt * slope[2 * NV + i];
  memcpy(x, s->q, NQ * sizeof *x);
  memcpy(x + NQ, s->v, NV * sizeof *x);
  memcpy(x + NQ + NV, u, NV * sizeof *x);
  local_rate(x, slope);
  for (int i = 0; i < NV; ++i) u[i] = dt * slope[i];
  moved(s->q, u, q);
  memcpy(s->q, q, NQ * sizeof *q);
  return DONE;
}

static int rk4(struct motion *s, const double *tau, const struct watch *watched, double dt) {
  double u[NV + 1] = {0.0}, q[NQ + 1], v[NV + 1], k[4][2 * NV + 3];
  memcpy(q, s->q, sizeof q);
  memcpy(v, s->v, sizeof v);
  for (int n = 0; n < 4; ++n) {
    if (!stage(q, v, u, tau, watched, k[n])) return PIVOT;
    const double h = n == 2 ? dt : 0.5 * dt;
    if (n == 3) break;
    for (int i = 0; i < NV; ++i) u[i] = h * k[n][i], v[i] = s->v[i] + h * k[n][NV + i];
    moved(s->q, u, q);
  }
  for (int i = 0; i < 2 * NV + 2; ++i)
    k[0][i] = dt / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
  for (int i = 0; i < NV; ++i) s->v[i] += k[0][NV + i];
  for (int i = 0; i < 2; ++i) s->books[i] += k[0][2 * NV + i];
  moved(s->q, k[0], q);
  memcpy(s->q, q, NQ * sizeof *q);
  return DONE;
}

static double largest(const double *x, int n) {
  double most = 0.0;
  for (int i = 0; i < n; ++i) most = fabs(x[i]) > most || !is_finite(x[i]) ? fabs(x[i]) : most;
  return most;
}

static int close_loops(struct motion *s) {
  s->open = 0.0;
#if NE > 0
  double x[NQ + NV + 1], y[NV + NQ + NV + NE + NF + NC + 1];
  const double *newton = y + NV + NQ, *errors = newton + NV, *flips = errors + NE;
  int stood = 0;
  for (int n = 0; n < CLOSING_STEPS; ++n) {
    memcpy(x, s->q, NQ * sizeof *x);
    memcpy(x + NQ, s->v, NV * sizeof *x);
    closing(x, y);
    for (int i = 0; i < NC; ++i)
      if (!(flips[NF + i] > 0.0)) return PIVOT;
    const double worst = largest(errors, NE);
    if (worst <= CLOSED || (n == CLOSING_STEPS - 1 && worst <= 1e2 * CLOSED)) {
      for (int i = 0; i < NF; ++i)
        if (!(flips[i] > 0.0)) return OPEN;
      memcpy(s->v, y, NV * sizeof *y);
      s->open = largest(errors, NL);
      return DONE;
    }
    const int stands = largest(newton, NV) <= STANDSTILL;
    if (stands && stood && REDUNDANT_ROWS) return OPEN; /* rows contradict each other */
    stood = stands;
    memcpy(s->q, y + NV, NQ * sizeof *y);
  }
  return OPEN;
#else
  return DONE;
#endif
}

static void look_at(struct motion *s, const struct watch *watched) {
  double x[NQ + NV + NR + NT + 1], y[3 + 2 * NW + 1], slide[NR + 1];
  memcpy(x, s->q, NQ * sizeof *x);
  memcpy(x + NQ, s->v, NV * sizeof *x);
  note(watched, slide, x + NQ + NV);
  look(x, y);
  memcpy(s->energies, y, 3 * sizeof *y);
  memcpy(s->positions, y + 3, NW * sizeof *y);
  memcpy(s->rates, y + 3 + NW, NW * sizeof *y);
}

static double balance(const struct motion *s) {
  return s->energies[0] + s->energies[1] + s->energies[2] + s->books[1] - s->books[0];
}

static int take_part(struct motion *s, const double *tau, const struct watch *watched, double dt,
                     int use_rk4) {
  int why = use_rk4 ? rk4(s, tau, watched, dt) : euler(s, tau, watched, dt);
  if (why == DONE) why = close_loops(s);
  if (why == DONE && !is_finite(largest(s->v, NV) + largest(s->q, NQ))) why = NOT_FINITE;
  if (why == DONE) look_at(s, watched);
  return why;
}

/* Takes a step in as few parts as the books allow; see kernels/fine_steps.py. */
static int take_step(struct motion *s, const double *tau, const struct watch *watched,
                     const double *asked) {
  const double dt = asked[DT], tolerance = asked[TOLERANCE], lift = asked[LIFT];
  if (asked[RK4] == 0.0 || !(tolerance < HUGE_VAL))
    return take_part(s, tau, watched, dt, asked[RK4] != 0.0);
  const double most = s->energies[0] + fabs(s->energies[2]) + lift;
  int left = COARSE, part = COARSE;
  while (left > 0) {
    struct motion next = *s;
    const double share = (double)part / COARSE;
    const int why = take_part(&next, tau, watched, share * dt, 1);
    if (why != DONE) return why;
    double energy = next.energies[0] + fabs(next.energies[2]) + lift;
    if (energy < most) energy = most;
    const double noise = ROUNDING * (energy + fabs(next.energies[1]) + fabs(next.books[0]) +
                                     fabs(next.books[1]));
    double error = fabs(balance(&next) - balance(s)) - noise;
    if (error < 0.0) error = 0.0;
    if (error <= share * tolerance * energy) {
      *s = next;
      left -= part;
      if (error * EASILY <= share * tolerance * energy && left % (2 * part) == 0)
        part = 2 * part < COARSE ? 2 * part : COARSE;
    } else if (part > 1) {
      part /= 2;
    } else {
      return ROUGH;
    }
  }
  return DONE;
}

static int has_event(const struct motion *s, const struct watch *watched) {
  for (int i = 0; i < NW; ++i) {
    const struct watch *w = watched + i;
    const double position = s->positions[i], rate = s->rates[i];
    if (w->rubs != 0.0 && rate * w->direction + TURNING < 0.0) return 1;
    if (w->placed != 0.0) {
      const double away = rate > 0.0 ? w->upper - position : position - w->lower;
      if (rate != 0.0 && away + TOUCHING < 0.0) return 1;
      if (w->upper - position + PASSED < 0.0 || position - w->lower + PASSED < 0.0) return 1;
    }
  }
  return 0;
}

/* Takes steps until all are done or one is not plain; returns why. `taken` and `logged` say how
   far it came; q, v, books and watched are those of the last good state. */
int run_steps(const double *asked, double *q, double *v, const double *tau, double *books,
              struct watch *watched, double *log, long *taken, long *logged) {
  struct motion now, next;
  const long steps = (long)asked[STEPS], stride = (long)asked[STRIDE];
  int why = DONE;
  memset(&now, 0, sizeof now);
  memcpy(now.q, q, NQ * sizeof *q);
  memcpy(now.v, v, NV * sizeof *v);
  memcpy(now.books, books, sizeof now.books);
  look_at(&now, watched);
  *taken = *logged = 0;
  while (*taken < steps) {
    next = now;
    why = take_step(&next, tau, watched, asked);
    if (why == DONE && has_event(&next, watched)) why = EVENT;
    if (why != DONE) break;
    now = next;
    for (int i = 0; i < NW; ++i)
      if (watched[i].counts != 0.0 && fabs(now.positions[i] - watched[i].seen) > QUARTER)
        watched[i].seen = now.positions[i];
    ++*taken;
    if (stride > 0 && ((long)asked[COUNTED] + *taken) % stride == 0) {
      double *row = log + *logged * (6 + NQ + NV);
      row[0] = asked[START] + (asked[FIRST] + (double)*taken) * asked[DT];
      row[1] = now.energies[0];
      row[2] = now.energies[1] + now.energies[2];
      row[3] = now.books[0], row[4] = now.books[1], row[5] = now.open;
      memcpy(row + 6, now.q, NQ * sizeof *q);
      memcpy(row + 6 + NQ, now.v, NV * sizeof *v);
      ++*logged;
    }
  }
  memcpy(q, now.q, NQ * sizeof *q);
  memcpy(v, now.v, NV * sizeof *v);
  memcpy(books, now.books, sizeof now.books);
  return why;
}
