//! Pointers that a program passes. They cannot be made here: what is done through them is as sound as the program's call.

use std::ffi::{CStr, c_char, c_void};

use cudarc::driver::sys::CUresult;

use crate::status::Answer;

/// To one value, or several, that are written; null where none is asked for.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// To what lies at an address that the program gave.
    pub fn at(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address))
    }

    /// The same, where it is to a value of another type.
    pub fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// Writes the value.
    pub fn put(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the program says that a value is there.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes the value where one is asked for.
    pub fn put_if_asked(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: as above.
            unsafe { self.0.write(value) };
        }
    }

    /// Whether none is asked for.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes the values, of which there is room for as many as the program says.
    pub fn put_all(self, values: impl Iterator<Item = T>) -> Answer {
        if self.0.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for (index, value) in values.enumerate() {
            // SAFETY: as above; the caller takes no more than there is room for.
            unsafe { self.0.add(index).write(value) };
        }
        Ok(())
    }

    /// The value that is there now.
    pub fn get(self) -> Answer<T>
    where
        T: Copy,
    {
        In(self.0.cast_const()).get()
    }
}

/// To values that are read.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// To what lies at an address that the program gave.
    pub fn at(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance(address))
    }

    /// The value.
    pub fn get(self) -> Answer<T> {
        if self.0.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the program says that a value is there.
        Ok(unsafe { self.0.read() })
    }

    /// So many values; null is none.
    pub fn all(self, count: usize) -> Answer<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: as above.
        Ok((0..count).map(|index| unsafe { self.0.add(index).read() }).collect())
    }
}

impl<T> In<T> {
    /// Whether there are none.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl In<*mut c_void> {
    /// The pointers to a kernel's arguments.
    pub fn raw(self) -> *mut *mut c_void {
        self.0.cast_mut()
    }
}

/// To text that ends with a NUL.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    /// The text.
    pub fn get(self) -> Answer<String> {
        if self.0.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the program says that such text is there.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)
    }
}

/// To a module's image.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Image(*const c_void);

impl Image {
    /// The image where it is text; machine code begins with a magic number.
    pub fn text(self) -> Answer<String> {
        const MACHINE_CODE: [[u8; 4]; 3] = [*b"\x7fELF", 0xba55_ed50_u32.to_le_bytes(), 0x4662_43b1_u32.to_le_bytes()];
        let text = Text(self.0.cast());
        let mut first = [0; 4];
        // Text ends with a NUL, beyond which nothing is read.
        for (index, byte) in first.iter_mut().enumerate() {
            *byte = In(self.0.cast::<u8>().wrapping_add(index)).get()?;
            if *byte == 0 {
                break;
            }
        }
        if MACHINE_CODE.contains(&first) { Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU) } else { text.get() }
    }
}

/// What a number of an enumeration stands for.
pub fn by_number<T: Copy>(of: &[T], number: u32) -> Answer<T> {
    of.get(number as usize).copied().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}
