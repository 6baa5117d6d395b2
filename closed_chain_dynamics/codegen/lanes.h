/* One state of LANES side by side, and whether what was computed for each counts. */
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
