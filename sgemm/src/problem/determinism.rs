//! What a result's bits may depend on.

/// What the bits of an element of D may depend on, beside its row of A, its column of B, its elements of C and bias, alpha and beta.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Determinism {
    /// On the problem and the device, and so on what was measured to be fastest there: the same call gives the same bits.
    #[default]
    PerProblem,
    /// On k, the layouts and the accuracy class, and on which kernels the device runs, nothing else: not on m and n, the batch, the grid,
    /// the other rows and columns, or where these are computed. It pins the order along k, and leaves the tiles free.
    PerElement,
}
