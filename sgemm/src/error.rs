//! What can go wrong: one line each, which names the operand, the bound and the value.

use std::fmt;

use gpu_kernels::Element;

/// An error of this crate. Its text is one line, fit to be shown to a user as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A size or leading dimension that cannot be counted: above [`gpu_kernels::MAX_SIZE`], or less where a kernel needs more
    /// than the operands.
    TooLarge {
        /// `m`, `n`, `k`, `lda`, `ldb` or `ldc`.
        name: &'static str,
        /// What was asked for.
        value: u32,
        /// The largest that would do.
        most: u32,
    },

    /// The matrices of these sizes have more bytes than an address can count.
    SizeOverflow {
        /// Rows of A and C.
        m: u32,
        /// Columns of B and C.
        n: u32,
        /// Columns of A, rows of B.
        k: u32,
    },

    /// A leading dimension is shorter than a row.
    LeadingDimension {
        /// `lda`, `ldb` or `ldc`.
        name: &'static str,
        /// What was asked for.
        value: u32,
        /// The least that would do.
        columns: u32,
    },

    /// A kernel was to run on matrices that are not made of what it takes.
    Elements {
        /// The kernel.
        kernel: &'static str,
        /// What it takes A and B as, and gives C as.
        takes: [Element; 2],
        /// What they are made of.
        found: [Element; 2],
    },

    /// An operand, or the workspace, that does not begin where kernels can read it.
    Alignment {
        /// `A`, `B`, `C` or `workspace`.
        operand: &'static str,
        /// Where it begins.
        address: u64,
        /// What that must be a multiple of.
        bytes: u64,
    },

    /// The device cannot run the kernel.
    Unsupported {
        /// The kernel.
        kernel: &'static str,
        /// The devices that it needs, as [`gpu_kernels::Target::devices`] names them.
        needs: &'static str,
        /// The device's name.
        device: String,
        /// The device's compute capability: major, minor.
        compute_capability: (u32, u32),
    },

    /// The CUDA driver's library cannot be loaded.
    NoDriver,

    /// The driver is there, a device is not.
    NoDevice,

    /// The driver is too old for what is asked of it.
    DriverTooOld {
        /// The newest CUDA version that it supports, such as `11.2`.
        found: String,
        /// The oldest that would do.
        oldest: String,
    },

    /// A call into the CUDA driver failed.
    Driver {
        /// What was tried, such as `run naive`; completes the sentence "cannot ...".
        what: String,
        /// The driver's code, such as `CUDA_ERROR_INVALID_VALUE`.
        code: String,
    },

    /// A PTX module is no PTX, or the driver does not accept it.
    BadModule {
        /// The module's name: the built-in one's, or a file's.
        module: String,
        /// Why.
        reason: String,
    },

    /// A PTX module without a kernel that a step launches.
    MissingKernel {
        /// The module's name.
        module: String,
        /// The entry point.
        kernel: String,
    },

    /// A table of what is fastest that cannot be read.
    BadTable {
        /// The line, counted from 1.
        line: usize,
        /// Why not.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { name, value, most } => write!(f, "{name} = {value} is too large: it is at most {most}"),
            Self::SizeOverflow { m, n, k } => {
                write!(f, "m = {m}, n = {n}, k = {k}: the matrices' bytes overflow; give smaller sizes")
            }
            Self::LeadingDimension { name, value, columns } => {
                write!(f, "{name} = {value} is too small: a row of that matrix has {columns} elements")
            }
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
            Self::MissingKernel { module, kernel } => {
                write!(f, "{module} has no kernel '{kernel}'; a module must hold all kernels that are launched from it")
            }
            Self::BadTable { line, reason } => write!(f, "line {line}: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_goes_to_any_thread() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Error>();
    }

    #[test]
    fn messages_name_the_operand_the_bound_and_the_value() {
        let error = Error::Alignment { operand: "A", address: 0x1004, bytes: 16 };
        assert_eq!(error.to_string(), "A begins at 0x1004, which is no multiple of 16 bytes");
        let error = Error::Elements { kernel: "hgemm", takes: [Element::F16; 2], found: [Element::F32, Element::F16] };
        assert_eq!(error.to_string(), "hgemm takes f16 and gives f16; the matrices are of f32 and f16");
    }
}
