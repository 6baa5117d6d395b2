/* Calls one generated function FUNCTION for many states, LANES at a time.
   NX inputs, NY numbers wanted, NM margins behind them, INPUTS arrays of widths WIDTHS. */
static const int widths[INPUTS] = WIDTHS;
#ifndef ROOM /* where inputs and outputs lie: on the stack, unless they are too many for it */
#define ROOM
#endif

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
/* One state from Python, without ctypes: answer(input, ..., out) takes contiguous arrays of
   doubles and says whether the answer counts; False too where an argument does not fit. What is
   declared here is part of Python's stable ABI, so that no header of Python is needed. */
#include <string.h>
typedef struct _object PyObject;
typedef long Py_ssize_t;
typedef struct {
  void *buf;
  PyObject *obj;
  Py_ssize_t len, itemsize;
  int readonly, ndim;
  char *format;
  Py_ssize_t *shape, *strides, *suboffsets;
  void *internal;
} Py_buffer;
typedef PyObject *(*fastcall)(PyObject *, PyObject *const *, Py_ssize_t);
typedef struct {
  const char *ml_name;
  fastcall ml_meth;
  int ml_flags;
  const char *ml_doc;
} PyMethodDef;
extern int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
extern void PyBuffer_Release(Py_buffer *);
extern void PyErr_Clear(void);
extern PyObject *PyBool_FromLong(long);
extern PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
enum { WRITABLE = 1, WITH_SHAPE_AND_FORMAT = 4 | 8, METH_FASTCALL = 0x80 };

static int take(PyObject *from, Py_buffer *view, int flags, Py_ssize_t width) {
  if (PyObject_GetBuffer(from, view, flags) != 0) {
    PyErr_Clear();
    return 0;
  }
  if (view->ndim == 1 && view->shape[0] == width && strcmp(view->format, "d") == 0) return 1;
  PyBuffer_Release(view);
  return 0;
}

static PyObject *answer(PyObject *self, PyObject *const *given, Py_ssize_t n) {
  ROOM double x[NX + 1], y[NY + NM + 1];
  Py_buffer view;
  (void)self;
  if (n != INPUTS + 1) return PyBool_FromLong(0);
  double *at = x;
  for (int i = 0; i < INPUTS; ++i) {
    if (!take(given[i], &view, WITH_SHAPE_AND_FORMAT, widths[i])) return PyBool_FromLong(0);
    memcpy(at, view.buf, widths[i] * sizeof(double));
    PyBuffer_Release(&view);
    at += widths[i];
  }
  if (!evaluate(x, y)) return PyBool_FromLong(0);
  if (!take(given[INPUTS], &view, WITH_SHAPE_AND_FORMAT | WRITABLE, NY)) return PyBool_FromLong(0);
  memcpy(view.buf, y, NY * sizeof(double));
  PyBuffer_Release(&view);
  return PyBool_FromLong(1);
}

/* One state from compiled code: all inputs behind each other; 1 where the answer counts. */
int call_packed(const double *x, double *out) {
  ROOM double y[NY + NM + 1];
  if (!evaluate(x, y)) return 0;
  memcpy(out, y, NY * sizeof(double));
  return 1;
}

PyObject *python_function(void) {
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
      for (int i = 0; i < NY; ++i) out[(row + k) * NY + i] = lane(y[i], k);
      ok[row + k] = is_true(good, k) ? 1 : 0;
    }
  }
}
