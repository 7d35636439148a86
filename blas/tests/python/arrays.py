"""float32 in NumPy and SciPy, with the library preloaded: views, transposes, odd strides, and LAPACK over it.

Elements are small whole numbers wherever results must equal the reference, which NumPy computes in integers, without a BLAS.
"""

import numpy
import scipy.linalg
from scipy.linalg import blas, lapack

RANDOM = numpy.random.default_rng(3)


def draw(*shape):
    return RANDOM.integers(-4, 5, shape).astype("float32")


def exact(a, b):
    return a.astype("int64") @ b.astype("int64")


def check(found, expected, what):
    assert found.dtype == numpy.float32, (what, found.dtype)
    assert found.shape == expected.shape and (found == expected).all(), what


def views():
    """Two matrices as programs have them, 40 x 30 and 30 x 20."""
    wide, tall = draw(90, 100), draw(100, 90)
    yield "rows", draw(40, 30), draw(30, 20)
    yield "columns", numpy.asfortranarray(draw(40, 30)), numpy.asfortranarray(draw(30, 20))
    yield "transposes", draw(30, 40).T, draw(20, 30).T
    yield "mixed", draw(30, 40).T, draw(30, 20)
    yield "slices", wide[3:43, 5:35], tall[7:37, 1:21]
    yield "slices of transposes", wide.T[3:43, 5:35], tall.T[7:37, 1:21]
    yield "steps of rows", wide[1:81:2, 5:35], tall[9:99:3, 1:21]
    yield "steps of columns", wide[2:42, 1:91:3], tall[:30, ::4][:, :20]
    yield "reversed rows", wide[43:3:-1, 5:35], tall[36:6:-1, 1:21]
    yield "reversed columns", wide[3:43, 34:4:-1], tall[7:37, 20:0:-1]
    yield "broadcast", numpy.broadcast_to(draw(30), (40, 30)), numpy.broadcast_to(draw(30, 1), (30, 20))
    unaligned = numpy.frombuffer(b"\0" + draw(40, 30).tobytes(), "uint8")[1:].view("float32").reshape(40, 30)
    yield "unaligned", unaligned, draw(30, 20)


def products():
    for name, a, b in views():
        for what, found in (("@", a @ b), ("dot", numpy.dot(a, b)), ("matmul", numpy.matmul(a, b))):
            check(found, exact(a, b), f"{what} of {name}")
        out = numpy.full((40, 20), numpy.nan, "float32")
        numpy.matmul(a, b, out=out)
        check(out, exact(a, b), f"out of {name}")
    stack, other = draw(3, 8, 9), draw(3, 9, 7)
    check(stack @ other, exact(stack, other), "stacks")
    check(stack @ other[0], exact(stack, other[0]), "a stack and a matrix")
    check(numpy.einsum("ij,jk->ik", stack[0], other[0], optimize=True), exact(stack[0], other[0]), "einsum")
    check(draw(0, 5) @ draw(5, 4), numpy.zeros((0, 4)), "no rows")
    check(draw(6, 0) @ draw(0, 4), numpy.zeros((6, 4)), "no terms")
    check(draw(40, 30).dot(numpy.eye(30, dtype="float32")[:, :1]).reshape(-1)[:0], numpy.zeros(0), "a column")


def of_scipy():
    a, b, c = draw(31, 23), draw(23, 17), draw(31, 17)
    for trans_a in range(3):
        for trans_b in range(3):
            operands = (a.T if trans_a else a), (b.T if trans_b else b)
            found = blas.sgemm(2.0, *operands, trans_a=trans_a, trans_b=trans_b)
            check(found, 2 * exact(a, b), f"sgemm {trans_a} {trans_b}")
    check(blas.sgemm(-1.0, a, b, beta=3.0, c=c), 3 * c.astype("int64") - exact(a, b), "beta")
    in_place = numpy.asfortranarray(c)
    assert blas.sgemm(1.0, a, b, beta=1.0, c=in_place, overwrite_c=1) is in_place
    check(in_place, c.astype("int64") + exact(a, b), "in place")
    check(blas.sgemm(1.0, a[::2, ::3], b[::3, ::2]), exact(a[::2, ::3], b[::3, ::2]), "steps")
    # LAPACK's blocks, which are larger than what it does without a product.
    matrix = RANDOM.uniform(-1, 1, (150, 150)).astype("float32") + 20 * numpy.eye(150, dtype="float32")
    right = RANDOM.uniform(-1, 1, (150, 5)).astype("float32")
    for name, found in (("solve", scipy.linalg.solve(matrix, right)), ("numpy", numpy.linalg.solve(matrix, right))):
        assert found.dtype == numpy.float32 and abs(matrix.astype("float64") @ found - right).max() < 1e-5, name
    positive = matrix @ matrix.T
    factor, status = lapack.spotrf(positive, lower=1, clean=1)
    assert status == 0 and abs(factor.astype("float64") @ factor.T - positive).max() < 1e-4 * positive.max()


products()
of_scipy()
print("right")
