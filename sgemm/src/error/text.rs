//! Errors as text: one line each.

use std::fmt;

use gpu_kernels::Element;

use super::Error;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { name, value, most } => write!(f, "{name} = {value} is too large: it is at most {most}"),
            Self::TooManyBlocks { kernel } => {
                write!(f, "{kernel} would take more blocks or launches than can be had: divide the problem")
            }
            Self::SizeOverflow { m, n, k } => {
                write!(f, "m = {m}, n = {n}, k = {k}: the matrices' bytes overflow; give smaller sizes")
            }
            Self::LeadingDimension { name, value, least } => {
                write!(
                    f,
                    "{name} = {value} is too small: it is at least {least}, the length of a row or, by columns, a column"
                )
            }
            Self::Strides { operand, row_stride, column_stride } => {
                write!(f, "{operand} has strides {row_stride} and {column_stride}: one of them must be 1")
            }
            Self::ExtentOverflow { operand } => {
                write!(
                    f,
                    "{operand}: its last element lies further on than can be counted; give smaller sizes or strides"
                )
            }
            Self::BatchStride { operand, stride, elements } => {
                write!(f, "batch stride {stride} of {operand}: matrices of {elements} elements would overlap")
            }
            Self::BadAlignment { operand, bytes, element } => write!(
                f,
                "{operand} aligned to {bytes} bytes: that must be a power of two, {} at least",
                element.bytes()
            ),
            Self::Output { input, output } => {
                let [input, output] = [input, output].map(|element| element.name());
                write!(f, "no kernel makes a C of {output} of operands of {input}: C is of {input} or f32")
            }
            Self::Accuracy { class, input } => {
                write!(f, "{} is no accuracy class of operands of {}", class.name(), input.name())
            }
            Self::ShortBuffer { operand, elements, least } => {
                write!(f, "{operand} has {elements} elements; the problem reaches {least}")
            }
            Self::Buffers { operand, is_needed: true } => write!(f, "{operand} is missing: the problem asks for it"),
            Self::Buffers { operand, is_needed: false } => write!(f, "{operand} was given: the problem has none"),
            Self::Prepared { operand } => {
                write!(
                    f,
                    "{operand} was prepared for another kernel or layout, or is not the same in all of a batch: prepare it by this plan"
                )
            }
            Self::GroupCount { problems, given } => {
                write!(f, "buffers were given for {given} problems; the group has {problems}")
            }
            Self::InGroup { index, error } => write!(f, "problem {index} of the group, counted from 0: {error}"),
            Self::Unfinished { error } => write!(f, "C is in part computed: {error}"),
            Self::WorkspaceTooSmall { bytes, least } => {
                write!(f, "the workspace has {bytes} bytes; the plan needs {least}")
            }
            Self::WorkspaceLimit { limit, least } => {
                write!(f, "no kernel does with {limit} bytes of workspace: give {least} at least")
            }
            Self::WrongDevice { what, found, expected } => {
                write!(f, "{what} is of device {found}, or another context of it; the handle is of device {expected}")
            }
            Self::Capturing => write!(
                f,
                "the stream is being captured: use `capture`, or `run_raw`, whose caller keeps what the graph uses"
            ),
            Self::Elements { kernel, takes, found } => {
                let [[input, output], [a, c]] = [takes, found].map(|elements| elements.map(Element::name));
                write!(f, "{kernel} takes {input} and gives {output}; the matrices are of {a} and {c}")
            }
            Self::Alignment { operand, address, bytes } => {
                write!(f, "{operand} begins at {address:#x}, which is no multiple of {bytes} bytes")
            }
            Self::Unsupported { kernel, needs, device, compute_capability: (major, minor) } => {
                write!(f, "{kernel} needs {needs}; {device} has {major}.{minor}")
            }
            Self::Emulated { kernel, finding } => write!(f, "{kernel}: {finding}"),
            Self::BadAddress { address, bytes: 0 } => {
                write!(f, "no memory was allocated at {address:#x}, or it was freed")
            }
            Self::BadAddress { address, bytes } => {
                write!(f, "at {address:#x}, the emulated device has no memory of {bytes} bytes")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "this machine has no room for {bytes} bytes of an emulated device")
            }
            Self::NoDriver => write!(f, "the NVIDIA driver (libcuda) is not installed"),
            Self::NoDevice => {
                write!(f, "the NVIDIA driver sees no device; check nvidia-smi and CUDA_VISIBLE_DEVICES")
            }
            Self::DriverTooOld { found, oldest } => write!(
                f,
                "cannot use the NVIDIA driver: it supports CUDA {found}; install one that supports CUDA {oldest} or later"
            ),
            Self::Driver { what, code } => write!(f, "cannot {what}: {code}"),
            Self::BadModule { module, reason } => {
                write!(f, "{module} is not a PTX module that can be used: {reason}")
            }
            Self::NoModule { target, feature } => {
                write!(f, "this program has no kernels for {target}: build it with the feature `{feature}` of sgemm")
            }
            Self::MissingKernel { module, kernel } => {
                write!(f, "{module} has no kernel '{kernel}'; a module must hold all kernels that are launched from it")
            }
            Self::Rank { rank, ranks } => write!(f, "rank {rank}: the grid has ranks 0 to {}", ranks.saturating_sub(1)),
            Self::Ranks { ranks, given } => {
                write!(f, "plans or matrices of {given} ranks: the grid has {ranks}, each with its own, in order")
            }
            Self::Disagreement { argument, ranks: [one, other], values: [its, others] } => {
                write!(f, "rank {one} was given {argument} = {its}, rank {other} {others}: they must be the same")
            }
            Self::Collective { rank, what, reason } => write!(f, "rank {rank}, {what}: {reason}"),
            Self::NotDistributed { what } => {
                write!(f, "{what} cannot be distributed: multiply on one device, or in parts")
            }
            Self::DeviceMemory { limit, enough } => {
                write!(
                    f,
                    "{limit} bytes of a GPU's memory do not hold a tile of C and panels of A and B: give {enough}"
                )
            }
            Self::NoNccl { reason } => {
                write!(
                    f,
                    "NCCL (libnccl.so.2) cannot be loaded: {reason}; install it, or name its folder in LD_LIBRARY_PATH"
                )
            }
            Self::NcclTooOld { found, oldest } => {
                write!(f, "cannot use NCCL {found}: install {oldest} or later")
            }
            Self::Launcher { reason } => write!(f, "cannot tell from the environment which rank this is: {reason}"),
            Self::BadTable { line, reason } => write!(f, "line {line}: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_operand_the_bound_and_the_value() {
        let error = Error::Alignment { operand: "A", address: 0x1004, bytes: 16 };
        assert_eq!(error.to_string(), "A begins at 0x1004, which is no multiple of 16 bytes");
        let error = Error::Elements { kernel: "hgemm", takes: [Element::F16; 2], found: [Element::F32, Element::F16] };
        assert_eq!(error.to_string(), "hgemm takes f16 and gives f16; the matrices are of f32 and f16");
    }
}
