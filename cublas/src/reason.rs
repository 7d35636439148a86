//! Why a call goes to cuBLAS.

/// Why a call is forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It is wrong, or computes nothing: cuBLAS says so, or returns.
    Invalid,
    /// Its matrices are not all of f32.
    Elements,
    /// It asks for TF32, for an emulation of cuBLAS's, or for a fast 16-bit arithmetic.
    OtherArithmetic,
    /// It asks for cuBLAS's prescribed arithmetic.
    Pedantic,
    /// alpha and beta are in device memory, or vectors.
    DeviceScalars,
    /// It names an algorithm.
    Algorithm,
    /// The program wants fewer SMs to be used.
    SmCountTarget,
    /// An epilogue other than bias and ReLU, or scales of matrices.
    Epilogue,
    /// An order of elements, or a kind of batch, that no plan has.
    Layout,
    /// A batch whose matrices are named by arrays of pointers in device memory, which no plan reads.
    PointerArrays,
    /// It asks for results that do not depend on the batch, in cuBLAS's sense.
    BatchInvariance,
    /// A batch of small problems, which would be launched one by one.
    ManySmall,
    /// The stream is captured, and this call would load a kernel or allocate.
    Capturing,
    /// There is no memory for its workspace below the limit.
    NoWorkspace,
    /// The current context is none, or not a device's primary one.
    Context,
    /// The library has not been measured on such a device, or there is no driver that it can use.
    Device,
    /// The library has no plan for it.
    Unsupported,
}

impl Reason {
    /// A few words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Invalid => "invalid, or nothing to compute",
            Self::Elements => "not of f32",
            Self::OtherArithmetic => "TF32 or another arithmetic is asked for",
            Self::Pedantic => "pedantic arithmetic is asked for",
            Self::DeviceScalars => "alpha and beta in device memory",
            Self::Algorithm => "an algorithm is named",
            Self::SmCountTarget => "fewer SMs are asked for",
            Self::Epilogue => "another epilogue",
            Self::Layout => "another layout",
            Self::PointerArrays => "a batch by arrays of pointers",
            Self::BatchInvariance => "results that do not depend on the batch are asked for",
            Self::ManySmall => "a batch of small problems",
            Self::Capturing => "would load or allocate while the stream is captured",
            Self::NoWorkspace => "no memory for the workspace",
            Self::Context => "no primary context is current",
            Self::Device => "not measured on this device",
            Self::Unsupported => "no plan",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Reason; 17] = [
        Reason::Invalid,
        Reason::Elements,
        Reason::OtherArithmetic,
        Reason::Pedantic,
        Reason::DeviceScalars,
        Reason::Algorithm,
        Reason::SmCountTarget,
        Reason::Epilogue,
        Reason::Layout,
        Reason::PointerArrays,
        Reason::BatchInvariance,
        Reason::ManySmall,
        Reason::Capturing,
        Reason::NoWorkspace,
        Reason::Context,
        Reason::Device,
        Reason::Unsupported,
    ];

    #[test]
    fn the_chapter_has_every_reason() {
        let chapter = include_str!("../../docs/src/without-changing-your-program.md");
        assert_eq!(ALL.map(|reason| reason as usize), std::array::from_fn(|number| number));
        assert_eq!(Reason::Unsupported as usize + 1, ALL.len());
        for reason in ALL {
            assert!(chapter.contains(&format!("\n| {} |", reason.text())), "{reason:?}");
        }
    }
}
