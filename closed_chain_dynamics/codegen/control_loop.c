/* A control loop at 1 kHz around the simulated mechanism: theta_G is held where it starts by
   computed torque, and the time of every turn goes into a histogram. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

#include "model.h"

#define TURNS 2000
#define BINS 24
static const model_real STIFFNESS = 100, DAMPING = 20, PERIOD = (model_real)0.001;

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

/* What the motors have to do, from the measured state. */
static enum model_status control(const model_real *q, const model_real *v, model_real *drift,
                                 model_real *tau) {
  model_real wanted[MODEL_G_COUNT + 1], a[MODEL_V_COUNT + 1];
  model_real tau_O[MODEL_V_COUNT + 1], tau_G[MODEL_G_COUNT + 1], rest[MODEL_G_COUNT + 1];
  enum model_status status;
  int i;
  for (i = 0; i < MODEL_G_COUNT; ++i) {
    const model_real rate = v[model_independent[i]];
    drift[i] += PERIOD * rate; /* how far theta_G has moved */
    wanted[i] = -STIFFNESS * drift[i] - DAMPING * rate;
  }
  status = model_complete_acceleration(q, v, wanted, a);
  if (status != MODEL_OK) return status;
  return model_inverse_dynamics(q, v, a, tau_O, tau_G, tau, rest);
}

int main(void) {
  model_real q[MODEL_Q_COUNT + 1], v[MODEL_V_COUNT + 1], tau[MODEL_TAU_COUNT + 1];
  model_real drift[MODEL_G_COUNT + 1];
  long histogram[BINS] = {0};
  double worst = 0;
  int turn, i;
  for (i = 0; i < MODEL_Q_COUNT; ++i) q[i] = model_start[i];
  for (i = 0; i < MODEL_V_COUNT; ++i) v[i] = 0;
  for (i = 0; i < MODEL_G_COUNT; ++i) drift[i] = 0;
  for (turn = 0; turn < TURNS; ++turn) {
    const double start = microseconds();
    enum model_status status = control(q, v, drift, tau);
    const double took = microseconds() - start;
    double limit = 0.25;
    for (i = 0; i < BINS - 1 && took > limit; ++i) limit *= 2;
    ++histogram[i];
    if (took > worst) worst = took;
    if (status == MODEL_OK) status = model_step(q, v, tau, PERIOD);
    if (status != MODEL_OK) {
      printf("turn %d: status %d\n", turn, (int)status);
      return 1;
    }
  }
  printf("%d turns, worst %.2f us\n", TURNS, worst);
  for (i = 0; i < BINS; ++i)
    if (histogram[i]) printf("<= %10.2f us %8ld\n", 0.25 * (double)(1L << i), histogram[i]);
  for (i = 0; i < MODEL_G_COUNT; ++i) printf("drift %d %.3e\n", i, (double)drift[i]);
  return 0;
}
