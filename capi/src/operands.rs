//! What a run is given, held to what its plan asks for.
#![allow(non_camel_case_types, reason = "C's names")]

use std::ffi::c_void;

use sgemm::Error;
use sgemm::plan::{Bindings, Buffer, Buffers, Plan, WORKSPACE_ALIGNMENT};

use crate::constants::{SGEMM_BIAS_NONE, SGEMM_SCALARS_DEVICE, SGEMM_SCALARS_HOST};
use crate::problem::sgemm_problem_t;
use crate::status::Failure;

/// What a run reads and writes. Zeros are none: begin with `sgemm_arguments_t arguments = {0};`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct sgemm_arguments_t {
    /// The factor of A*B, unless it is in device memory.
    pub alpha: f32,
    /// The factor of C, unless it is in device memory.
    pub beta: f32,
    /// A. Not read where alpha or k is 0, and null only where k is 0.
    pub a: *const c_void,
    /// B, likewise.
    pub b: *const c_void,
    /// C. Not read where beta is 0; it may be null then if there is a D.
    pub c: *mut c_void,
    /// D, of a problem that has it; null otherwise.
    pub d: *mut c_void,
    /// The bias, of a problem that has it; null otherwise.
    pub bias: *const c_void,
    /// Alpha in device memory, of a problem with SGEMM_SCALARS_DEVICE; null otherwise.
    pub device_alpha: *const f32,
    /// Beta, likewise.
    pub device_beta: *const f32,
    /// Device memory of workspace_bytes, at a multiple of 256 bytes, which may hold anything. Null where the plan asks for none.
    pub workspace: *mut c_void,
    /// Bytes of the workspace: as many as sgemm_plan_workspace_bytes says, or more.
    pub workspace_bytes: u64,
}

/// Which of the caller's matrices a run reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reads {
    pub inputs: bool,
    pub c: bool,
}

impl sgemm_arguments_t {
    /// What is read of a problem with these factors: all of it where they are not known yet.
    pub(crate) fn reads(&self, problem: &sgemm_problem_t) -> Reads {
        let is_known = problem.scalars == SGEMM_SCALARS_HOST;
        Reads { inputs: problem.k > 0 && !(is_known && self.alpha == 0.0), c: !(is_known && self.beta == 0.0) }
    }

    /// Checks that all is there that the problem asks for, and nothing else, without the workspace.
    pub(crate) fn check(&self, problem: &sgemm_problem_t, plan: &Plan) -> Result<(), Failure> {
        let is_apart = problem.has_d != 0;
        let has_bias = problem.bias != SGEMM_BIAS_NONE;
        let on_device = problem.scalars == SGEMM_SCALARS_DEVICE;
        let wanted = [
            ("D", self.d.cast_const(), is_apart),
            ("bias", self.bias, has_bias),
            ("alpha", self.device_alpha.cast(), on_device),
            ("beta", self.device_beta.cast(), on_device),
        ];
        for (operand, pointer, is_needed) in wanted {
            if pointer.is_null() == is_needed {
                return Err(Error::Buffers { operand, is_needed }.into());
            }
        }
        if plan.problem().is_empty() {
            return Ok(());
        }
        // Without elements, as of PyTorch's tensors, A and B have no address.
        let has_inputs = problem.k > 0;
        let needs_c = !is_apart || self.reads(problem).c;
        for (name, pointer, is_needed) in
            [("a", self.a, has_inputs), ("b", self.b, has_inputs), ("c", self.c.cast_const(), needs_c)]
        {
            if is_needed && pointer.is_null() {
                return Err(Failure::null(name));
            }
        }
        Ok(())
    }

    /// Checks that the workspace will do.
    pub(crate) fn check_workspace(&self, plan: &Plan) -> Result<(), Failure> {
        let (bytes, least) = (self.workspace_bytes, plan.workspace_bytes());
        if bytes < least {
            return Err(Error::WorkspaceTooSmall { bytes, least }.into());
        }
        if least > 0 && self.workspace.is_null() {
            return Err(Failure::null("workspace"));
        }
        let address = self.workspace.addr() as u64;
        if least > 0 && !address.is_multiple_of(WORKSPACE_ALIGNMENT) {
            return Err(Error::Alignment { operand: "workspace", address, bytes: WORKSPACE_ALIGNMENT }.into());
        }
        Ok(())
    }

    /// The addresses as they were given, with the parts of the workspace.
    pub(crate) fn bindings(&self, plan: &Plan) -> Bindings {
        let parts = plan.part_bytes().at(self.workspace.expose_provenance() as u64);
        self.bind(
            self.pointers()
                .into_iter()
                .fold(parts, |all, (buffer, pointer)| all.with(buffer, pointer.expose_provenance() as u64)),
        )
    }

    /// These addresses with alpha and beta.
    pub(crate) fn bind(&self, addresses: Buffers<u64>) -> Bindings {
        Bindings::new(addresses, self.alpha, self.beta)
    }

    /// The caller's matrices, null where they were not given.
    pub(crate) fn pointers(&self) -> [(Buffer, *const c_void); 7] {
        [
            (Buffer::A, self.a),
            (Buffer::B, self.b),
            (Buffer::C, self.c.cast_const()),
            (Buffer::D, self.d.cast_const()),
            (Buffer::Bias, self.bias),
            (Buffer::Alpha, self.device_alpha.cast()),
            (Buffer::Beta, self.device_beta.cast()),
        ]
    }
}
