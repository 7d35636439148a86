"""The package on kernels of ../tests/ptx."""

import unittest
from pathlib import Path

import numpy as np
import ptx_emu

PTX = Path(__file__).parents[2] / "tests"


def module(name):
    return ptx_emu.Module((PTX / name).read_text())


class Launches(unittest.TestCase):
    def test_arrays_hold_the_results(self):
        x, y = np.arange(1000, dtype="float32"), np.ones((10, 100), "float32")
        kernel = module("ptx/saxpy.ptx").kernel("saxpy")
        report = kernel.launch(grid=(4, 1, 1), block=(256, 1, 1), args=[np.uint32(1000), np.float32(2), x, y])
        self.assertTrue(report.is_clean, report)
        self.assertEqual((report.findings, report.fault, str(report)), ([], None, "clean"))
        np.testing.assert_array_equal(y, (2 * x + 1).reshape(10, 100))
        counters = report.counters
        self.assertEqual(counters["global_loads"]["sectors"], 250)
        self.assertEqual(counters["thread_fmas"], 1000)
        self.assertTrue(0 < report.time_ms() < report.time_ms("a100") < 1)
        with self.assertRaisesRegex(ptx_emu.Error, "no device 'h300'; it is one of h200"):
            report.time_ms("h300")

    def test_numbers_of_python_take_the_parameters_types(self):
        x = np.ones(8, "float32")
        report = module("ptx/saxpy.ptx").kernel().launch(1, 32, [8, 3, x, x], threads=1)
        self.assertTrue(report.is_clean, report)
        np.testing.assert_array_equal(x, np.full(8, 4, "float32"))  # both arguments are one buffer

    def test_findings_name_lines_threads_and_elements(self):
        a = np.zeros(256, "uint32")
        kernel = module("ptx/reduction.ptx").kernel("reduction_racy")
        report = kernel.launch(1, 256, [a, np.zeros(1, "uint32")], check=["races"])
        self.assertFalse(report.is_clean)
        race = report.findings[0]
        self.assertEqual((race.kind, race.rank, race.instruction), ("race", "error", "st.shared.u32"))
        self.assertEqual((race.line, len(race.thread), race.block), (76, 3, [0, 0, 0]))
        self.assertIn("nothing orders it after", str(race))
        self.assertEqual(kernel.launch(1, 256, [a, np.zeros(1, "uint32")], check="none").findings, [])

    def test_a_fault_leaves_arrays_as_they_were(self):
        a, c = np.zeros((4, 8), "float32"), np.full(64, 7, "float32")
        report = module("ptx/vector_add.ptx").kernel().launch(1, 64, [a, c, c.copy(), 64])
        self.assertEqual(report.fault.kind, "out of bounds")
        self.assertIn("right past the end of argument 1, 128 bytes", report.fault.what)
        self.assertTrue((c == 7).all())

    def test_variables_are_kept(self):
        scaled = module("ptx/variables.ptx")
        self.assertEqual(scaled.variables, ["factor", "scaled", "table"])
        scaled.set("factor", np.float32(3))
        values = np.ones(16, "float32")
        for _ in range(2):
            self.assertTrue(scaled.kernel("scale").launch(1, 32, [values, 16]).is_clean)
        self.assertTrue((values == 9).all())
        self.assertEqual(scaled.get("scaled", "uint32"), [32])
        self.assertEqual(list(scaled.get("table", "uint32")), [10, 20, 30, 40])
        with self.assertRaisesRegex(ptx_emu.Error, "no variable `fact`; the module has factor, scaled, table"):
            scaled.set("fact", np.float32(3))
        with self.assertRaisesRegex(ptx_emu.Error, "has 4 bytes, 8 are given"):
            scaled.set("factor", np.float64(3))
        with self.assertRaisesRegex(TypeError, "has no size in bytes"):
            scaled.set("factor", 3)

    def test_tensor_maps_are_of_arrays(self):
        tensor, out = np.arange(64 * 64, dtype="uint32").reshape(64, 64), np.zeros(8193, "uint32")
        boxes = module("ptx/tensor_dump.ptx").kernel("box2")
        report = boxes.launch(1, 128, [ptx_emu.TensorMap(tensor, (4, 8)), out, 16, 2, 0, 0, 0, 0, 4 * 8 * 4])
        self.assertTrue(report.is_clean, report)
        np.testing.assert_array_equal(out[:32].reshape(4, 8), tensor[2:6, 16:24])
        with self.assertRaisesRegex(ptx_emu.Error, "a swizzle of 5 bytes"):
            boxes.launch(1, 128, [ptx_emu.TensorMap(tensor, (4, 8), 5), out, 0, 0, 0, 0, 0, 0, 128])

    def test_what_does_not_fit_is_an_exception(self):
        kernel = module("ptx/saxpy.ptx").kernel()
        x, y = np.zeros(8, "float32"), np.zeros((8, 2), "float32")
        for error, words, args in [
            (ValueError, r"takes 4 arguments \(.u32, .f32, .u64, .u64\); 1 are given", [8]),
            (TypeError, "argument 1: the parameter is .u32, and 2.5 is no whole number", [2.5, 1, x, x]),
            (ValueError, "argument 1: the parameter is .u32, which does not have -1", [-1, 1, x, x]),
            (ValueError, "argument 1: the parameter is .u32, of 4 bytes; .* has 8", [np.uint64(8), 1, x, x]),
            (TypeError, "argument 2: the parameter is .f32, and .* is uint32", [8, np.uint32(1), x, x]),
            (TypeError, "argument 2: the parameter is .f32, which is no pointer", [8, x, x, x]),
            (TypeError, "argument 3: list: give an array", [8, 1, [1, 2], x]),
            (ValueError, "argument 3 is not contiguous", [8, 1, y[:, 0], x]),
            (ValueError, "arguments 3 and 4 overlap", [4, 1, x[:4], x[2:6]]),
        ]:
            with self.subTest(words), self.assertRaisesRegex(error, words):
                kernel.launch(1, 32, args)
        args = [8, 1, x, x]
        with self.assertRaisesRegex(ValueError, "grid is .*: give one to three whole numbers"):
            kernel.launch(0, 32, args)
        with self.assertRaisesRegex(ptx_emu.Error, "cannot be launched: .*.maxntid"):
            kernel.launch(1, 512, args)
        with self.assertRaisesRegex(ptx_emu.Error, "'race' is none of all"):
            kernel.launch(1, 32, args, check="race")
        with self.assertRaisesRegex(ptx_emu.Error, "there is no kernel `saxpi`; the module has saxpy"):
            module("ptx/saxpy.ptx").kernel("saxpi")
        with self.assertRaisesRegex(ptx_emu.Error, "line 1"):
            ptx_emu.Module("no PTX")
        with self.assertRaisesRegex(ptx_emu.Error, "several kernels: give one of"):
            module("ptx/reduction.ptx").kernel()


if __name__ == "__main__":
    unittest.main()
