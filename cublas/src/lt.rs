//! cublasLt's function, with the bias and the ReLU of its epilogue.

use std::ffi::c_void;

use sgemm::cuda::CUstream;
use sgemm::{Activation, BiasPer, Epilogue, Layout, Problem};

use crate::abi::*;
use crate::algorithm;
use crate::call::{Call, Workspace, alignment, count};
use crate::entry::{functions, watched};
use crate::next::{CUBLAS_LT, Next};
use crate::reason::Reason;
use crate::settings::Settings;

type Getter = unsafe extern "C" fn(Handle, Enum, *mut c_void, usize, *mut usize) -> Status;

static OF_PRODUCT: Next = Next::new(&CUBLAS_LT, c"cublasLtMatmulDescGetAttribute");
static OF_MATRIX: Next = Next::new(&CUBLAS_LT, c"cublasLtMatrixLayoutGetAttribute");

/// Numbers that attributes are.
trait Attribute: Copy + Default {}

impl Attribute for Enum {}
impl Attribute for i64 {}
impl Attribute for u64 {}

/// A description of cublasLt's, with the function that reads it.
struct Described(Handle, Getter);

impl Described {
    fn new(description: Handle, getter: &Next) -> Result<Self, Reason> {
        if description.is_null() {
            return Err(Reason::Invalid);
        }
        // SAFETY: that is the getters' type.
        let getter = unsafe { getter.get() }.ok_or(Reason::Unsupported)?;
        Ok(Self(description, getter))
    }

    /// An attribute; `None` where this version has none of that number.
    fn find<T: Attribute>(&self, attribute: Enum) -> Option<T> {
        let (mut value, mut written) = (T::default(), 0);
        // SAFETY: the description is the program's own, and the getter writes no more than there is room for.
        let status = unsafe { (self.1)(self.0, attribute, (&raw mut value).cast(), size_of::<T>(), &raw mut written) };
        (status == SUCCESS).then_some(value)
    }

    fn get<T: Attribute>(&self, attribute: Enum) -> Result<T, Reason> {
        self.find(attribute).ok_or(Reason::Invalid)
    }
}

/// A matrix, or a batch of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Matrix {
    rows: usize,
    columns: usize,
    layout: Layout,
    batch: usize,
    stride: usize,
}

impl Matrix {
    /// One of f32.
    fn new(description: Handle) -> Result<Self, Reason> {
        let described = Described::new(description, &OF_MATRIX)?;
        if described.get::<Enum>(matrix::TYPE)? != F32 {
            return Err(Reason::Elements);
        }
        let size = |attribute| described.get::<u64>(attribute).and_then(|size| count(size.cast_signed()));
        let (rows, columns, ld) = (size(matrix::ROWS)?, size(matrix::COLS)?, size(matrix::LD)?);
        let (line, layout) = match described.get(matrix::ORDER)? {
            ORDER_COL => (rows, Layout::column_major(ld)),
            ORDER_ROW => (columns, Layout::row_major(ld)),
            _ => return Err(Reason::Layout),
        };
        if ld < line.max(1) {
            return Err(Reason::Invalid);
        }
        if described.find::<Enum>(matrix::BATCH_MODE).is_some_and(|mode| mode != 0) {
            return Err(Reason::Layout);
        }
        let batch = count(described.get::<Enum>(matrix::BATCH_COUNT)?.into())?;
        let stride = count(described.get(matrix::STRIDED_BATCH_OFFSET)?)?;
        Ok(Self { rows, columns, layout, batch, stride: if batch == 1 { 0 } else { stride } })
    }

    /// The same read as an op says.
    fn read_as(self, op: Enum) -> Result<Self, Reason> {
        match op {
            OP_N => Ok(self),
            OP_T | OP_C => {
                Ok(Self { rows: self.columns, columns: self.rows, layout: self.layout.transposed(), ..self })
            }
            _ => Err(Reason::Invalid),
        }
    }
}

/// What is computed beside the product: the epilogue, and where its bias is.
fn epilogue(product: &Described, batch: usize) -> Result<(Epilogue, Option<u64>), Reason> {
    let (has_bias, activation) = match product.get(product::EPILOGUE)? {
        EPILOGUE_DEFAULT => (false, Activation::None),
        EPILOGUE_RELU => (false, Activation::Relu),
        EPILOGUE_BIAS => (true, Activation::None),
        EPILOGUE_RELU_BIAS => (true, Activation::Relu),
        _ => return Err(Reason::Epilogue),
    };
    if !has_bias {
        return Ok((Epilogue { bias: None, activation }, None));
    }
    let is_of_f32 = product.find(product::BIAS_DATA_TYPE).is_none_or(|of: Enum| of == BIAS_OF_D || of == F32);
    let is_shared = batch == 1 || product.get::<i64>(product::BIAS_BATCH_STRIDE)? == 0;
    let bias = product.get::<u64>(product::BIAS_POINTER)?;
    if bias == 0 || !bias.is_multiple_of(4) {
        return Err(Reason::Invalid);
    }
    if is_of_f32 && is_shared {
        Ok((Epilogue { bias: Some(BiasPer::Row), activation }, Some(bias)))
    } else {
        Err(Reason::Epilogue)
    }
}

/// Whether it is plain f32, with alpha and beta in the host's memory, and nothing of what no plan has.
fn check(product: &Described) -> Result<(), Reason> {
    match product.get(product::COMPUTE_TYPE)? {
        COMPUTE_32F => {}
        COMPUTE_32F_PEDANTIC => return Err(Reason::Pedantic),
        _ => return Err(Reason::OtherArithmetic),
    }
    let invariance = product.find::<Enum>(product::BATCH_INVARIANCE);
    if invariance.is_some_and(|flags| !NO_BATCH_INVARIANCE.contains(&flags)) {
        return Err(Reason::BatchInvariance);
    }
    if let Some(reason) = Settings::get().forwards_all {
        return Err(reason);
    }
    if product.get::<Enum>(product::SCALE_TYPE)? != F32 {
        return Err(Reason::Elements);
    }
    let is_one = |of: &Enum| product.find::<i64>(*of).is_none_or(|stride| stride == 0);
    if product.get::<Enum>(product::POINTER_MODE)? != POINTER_MODE_HOST
        || !product::FACTOR_BATCH_STRIDES.iter().all(is_one)
    {
        return Err(Reason::DeviceScalars);
    }
    if product.find(product::SM_COUNT_TARGET).is_some_and(|target: Enum| target != 0) {
        return Err(Reason::SmCountTarget);
    }
    let is_full = product.find(product::FILL_MODE).is_none_or(|mode: Enum| mode == FILL_MODE_FULL);
    let is_whole =
        product::ATOMIC_SYNC_CHUNKS.iter().all(|of| product.find::<Enum>(*of).is_none_or(|chunks| chunks == 0));
    if !is_full || !is_whole || product.get::<Enum>(product::TRANSC)? != OP_N {
        return Err(Reason::Layout);
    }
    let is_unscaled = product::SCALE_POINTERS.iter().all(|of| product.find::<u64>(*of).is_none_or(|scale| scale == 0));
    if is_unscaled { Ok(()) } else { Err(Reason::Epilogue) }
}

/// A product of f32 as cublasLt describes it.
///
/// # Safety
/// As of cublasLt's function.
unsafe fn offered(
    product: Handle,
    [alpha, beta]: [*const c_void; 2],
    [a, b, c, d]: [(*const c_void, Handle); 4],
    stream: CUstream,
    workspace: Workspace,
) -> Result<Call, Reason> {
    if alpha.is_null() || beta.is_null() || [a, b, d].iter().any(|(address, _)| address.is_null()) {
        return Err(Reason::Invalid);
    }
    // First, since most of what is not f32 is told by it.
    let stored_a = Matrix::new(a.1)?;
    let product = Described::new(product, &OF_PRODUCT)?;
    check(&product)?;
    // SAFETY: both are in the host's memory, as the description says.
    let [alpha, beta] = [alpha, beta].map(|scalar| unsafe { scalar.cast::<f32>().read_unaligned() });
    let of_a = stored_a.read_as(product.get(product::TRANSA)?)?;
    let of_b = Matrix::new(b.1)?.read_as(product.get(product::TRANSB)?)?;
    let of_d = Matrix::new(d.1)?;
    // Where beta is 0, C is not read, and cublasLt allows it to be null.
    let (of_c, c_address) = if beta == 0.0 { (of_d, d.0) } else { (Matrix::new(c.1)?, c.0) };
    let [m, n, k] = [of_d.rows, of_d.columns, of_a.columns];
    let shapes = [of_a, of_b, of_c].map(|matrix| [matrix.rows, matrix.columns, matrix.batch]);
    let batch = of_d.batch;
    let is_sound = shapes == [[m, k, batch], [k, n, batch], [m, n, batch]];
    if !is_sound || [m, n, k, batch].contains(&0) || c_address.is_null() {
        return Err(Reason::Invalid);
    }
    let (epilogue, bias) = epilogue(&product, batch)?;
    let [a, b, c, d] = [a.0, b.0, c_address, d.0].map(|address| address.addr() as u64);
    let mut problem = Problem::new(m, n, k)
        .with_layouts(of_a.layout, of_b.layout, of_c.layout)
        .with_accuracy(Settings::get().class)
        .with_alignment(alignment(a), alignment(b))
        .with_epilogue(epilogue);
    if batch > 1 {
        problem = problem.with_batch(batch, [of_a.stride, of_b.stride, of_c.stride]);
    }
    let is_in_place = c == d && of_c == of_d;
    // Elements of C would be read after their memory is D's.
    if c == d && !is_in_place {
        return Err(Reason::Invalid);
    }
    if !is_in_place {
        problem = problem.with_d(of_d.layout).with_batch_stride_d(of_d.stride);
    }
    let d = (!is_in_place).then_some(d);
    Ok(Call { problem, alpha, beta, a, b, c, d, bias, stream, workspace })
}

functions! {
    CUBLAS_LT;
    /// D = activation(alpha\*op(A)\*op(B) + beta\*C + bias), as descriptions say. Which algorithm cublasLt's heuristic chose is of no matter
    /// to a product that is computed here; one that the program configured is honoured.
    fn cublasLtMatmul(
        handle: Handle, product: Handle, alpha: *const c_void, a: *const c_void, a_layout: Handle, b: *const c_void,
        b_layout: Handle, beta: *const c_void, c: *const c_void, c_layout: Handle, d: *mut c_void, d_layout: Handle,
        algorithm: *const c_void, workspace: *mut c_void, bytes: usize, stream: CUstream,
    ) => {
        let matrices = [(a, a_layout), (b, b_layout), (c, c_layout), (d.cast_const(), d_layout)];
        let workspace = Workspace { address: workspace.addr() as u64, bytes: bytes as u64 };
        if handle.is_null() {
            return Err(Reason::Invalid);
        }
        if algorithm::is_configured(algorithm) {
            return Err(Reason::Algorithm);
        }
        offered(product, [alpha, beta], matrices, stream, workspace)
    };
}

watched! {
    CUBLAS_LT;
    /// Configures an algorithm.
    fn cublasLtMatmulAlgoConfigSetAttribute(algorithm: *mut c_void, attribute: Enum, value: *const c_void, bytes: usize) => {
        // SAFETY: cublasLt has just written to it.
        unsafe { algorithm::configure(algorithm) }
    };
}
