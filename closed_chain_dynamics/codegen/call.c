/* Calls one generated function FUNCTION for many states, LANES at a time.
   NX inputs, NY numbers wanted, NM margins behind them, INPUTS arrays of widths WIDTHS.
   A result is KEPT inputs as they were, which is all or none of them, and the numbers wanted. */
static const int widths[INPUTS] = WIDTHS;
#ifndef ROOM /* where inputs and outputs lie: on the stack, unless they are too many for it */
#define ROOM
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
/* One state from Python, without ctypes: answer(input, ..., out) takes contiguous arrays of
   doubles and says whether the answer counts; False too where an argument does not fit. What is
   declared here is part of Python's stable ABI, so that no header of Python is needed, and of what
   NumPy 1 and 2 compile into every program that uses them. Python's own way to an array's memory,
   buffers, takes a thousand instructions for each. */
#include <string.h>
typedef struct _object PyObject;
typedef long Py_ssize_t;
typedef PyObject *(*fastcall)(PyObject *, PyObject *const *, Py_ssize_t);
typedef struct {
  const char *ml_name;
  fastcall ml_meth;
  int ml_flags;
  const char *ml_doc;
} PyMethodDef;
extern PyObject *PyBool_FromLong(long);
extern PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
enum { METH_FASTCALL = 0x80 };
typedef struct {
  Py_ssize_t references;
  void *type, *of_numbers;
  char kind, number, byte_order;
} NumberType;
typedef struct {
  Py_ssize_t references;
  void *type;
  double *numbers;
  int dimensions;
  Py_ssize_t *shape, *strides;
  PyObject *base;
  const NumberType *number_type;
  int flags;
} Array;
enum { CONTIGUOUS = 1, ALIGNED = 0x100, WRITEABLE = 0x400 };
static void *array_type; /* numpy.ndarray */

static double *take(PyObject *given, Py_ssize_t width, int flags) {
  const Array *a = (const Array *)given;
  if (a->type != array_type || a->number_type->number != 'd' || a->number_type->byte_order != '=')
    return 0;
  return a->dimensions == 1 && a->shape[0] == width && !(flags & ~a->flags) ? a->numbers : 0;
}

static PyObject *answer(PyObject *self, PyObject *const *given, Py_ssize_t n) {
  ROOM double x[NX + 1], y[NY + NM + 1];
  (void)self;
  if (n != INPUTS + 1) return PyBool_FromLong(0);
  double *at = x;
  for (int i = 0; i < INPUTS; ++i) {
    const double *from = take(given[i], widths[i], CONTIGUOUS);
    if (!from) return PyBool_FromLong(0);
    memcpy(at, from, widths[i] * sizeof(double));
    at += widths[i];
  }
  double *out = take(given[INPUTS], KEPT + NY, CONTIGUOUS | ALIGNED | WRITEABLE);
  if (!out || !evaluate(x, y)) return PyBool_FromLong(0);
  memcpy(out, x, KEPT * sizeof(double));
  memcpy(out + KEPT, y, NY * sizeof(double));
  return PyBool_FromLong(1);
}

/* One state from compiled code: all inputs behind each other; 1 where the answer counts. */
int call_packed(const double *x, double *out) {
  ROOM double y[NY + NM + 1];
  if (!evaluate(x, y)) return 0;
  memcpy(out, y, NY * sizeof(double));
  return 1;
}

PyObject *python_function(PyObject *any_array) {
  array_type = ((const Array *)any_array)->type;
  static PyMethodDef method = {"answer", answer, METH_FASTCALL, 0};
  return PyCFunction_NewEx(&method, 0, 0);
}
#endif

void call_many(long first, long last, const double *const *in, double *out, unsigned char *ok) {
  ROOM real x[NX + 1], y[NY + NM + 1];
  for (long row = first; row < last; row += LANES) {
    for (int k = 0; k < LANES; ++k) {
      const long from = row + k < last ? row + k : last - 1;
      int at = 0;
      for (int i = 0; i < INPUTS; ++i)
        for (int j = 0; j < widths[i]; ++j) lane(x[at++], k) = in[i][from * widths[i] + j];
    }
    const verdict good = evaluate(x, y);
    for (int k = 0; k < LANES && row + k < last; ++k) {
      double *result = out + (row + k) * (KEPT + NY);
      for (int i = 0; i < KEPT; ++i) result[i] = lane(x[i], k);
      for (int i = 0; i < NY; ++i) result[KEPT + i] = lane(y[i], k);
      ok[row + k] = is_true(good, k) ? 1 : 0;
    }
  }
}
