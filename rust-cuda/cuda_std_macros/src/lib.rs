//! The attribute macros of `cuda_std`: [`kernel`], [`address_space`] and [`gpu_only`], with the spelling of Rust CUDA.
//!
//! Rust CUDA's own versions talk to its compiler backend; these speak to rustc's NVPTX backend and to `cuda_builder`,
//! which reads what they leave in the module: section `.shared` and sections `.launch_bounds.KERNEL`.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, FnArg, Ident, ItemFn, ItemStatic, Pat, ReturnType, Token, Type, parse_macro_input};

/// Marks an `unsafe fn` as a kernel: an entry point of the PTX module, under the function's own name.
///
/// A parameter of type `&[T]` or `&mut [T]` takes two arguments at launch, a device pointer and a length in elements. One of
/// type `&T` takes a `T` by value, which lies in parameter memory (CUDA's `const __grid_constant__ T`), on sm_90 and later.
/// `#[launch_bounds(MAX_THREADS, MIN_BLOCKS)]` below it bounds the block size and, if the second number is given, asks
/// for that many resident blocks per SM; both are constant expressions of type `u32`.
///
/// `#[kernel(suffix)]` appends `_suffix` to the name: so a macro can declare several entry points out of one name.
///
/// On the host the function is an ordinary one, so that tools see and check its body; calling it there makes no sense.
///
/// ```
/// use cuda_std::prelude::*;
///
/// const THREADS: u32 = 256;
///
/// /// y = a*x + y
/// ///
/// /// # Safety
/// /// Launched with THREADS threads a block.
/// #[kernel]
/// #[launch_bounds(THREADS, 2)]
/// pub unsafe fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
///     let i = thread::index_1d() as usize;
///     if i < y.len() {
///         y[i] = a.mul_add(x[i], y[i]);
///     }
/// }
/// ```
///
/// What is no kernel does not compile: a safe function, a generic one, one that returns something.
///
/// ```compile_fail
/// #[cuda_std::kernel]
/// pub fn safe(x: u32) {}
/// ```
/// ```compile_fail
/// #[cuda_std::kernel]
/// pub unsafe fn generic<T>(x: T) {}
/// ```
/// ```compile_fail
/// #[cuda_std::kernel]
/// pub unsafe fn returns(x: u32) -> u32 { x }
/// ```
/// ```compile_fail
/// #[cuda_std::kernel("no identifier")]
/// pub unsafe fn suffixed(x: u32) {}
/// ```
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut function = parse_macro_input!(item as ItemFn);
    if !arguments.is_empty() {
        let suffix = parse_macro_input!(arguments as Ident);
        function.sig.ident = format_ident!("{}_{suffix}", function.sig.ident);
    }
    expand(expand_kernel(function))
}

/// Places a `static` in an address space of the GPU. The only one is `shared`: one copy per block, never initialised,
/// so the type is a `MaybeUninit` and the value `MaybeUninit::uninit()`. Arrays start at multiples of 16 bytes at least.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[address_space(shared)]
/// static mut TILE: MaybeUninit<[f32; 1024]> = MaybeUninit::uninit();
/// ```
/// ```compile_fail
/// #[cuda_std::address_space(constant)]
/// static TABLE: [f32; 4] = [0.0; 4];
/// ```
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    let space = parse_macro_input!(space as Ident);
    let item = parse_macro_input!(item as ItemStatic);
    expand(if space == "shared" {
        Ok(quote! { #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared"))] #item })
    } else {
        Err(Error::new_spanned(space, "the only address space for a static is `shared`"))
    })
}

/// Marks a function that runs on the GPU only: on the host it compiles, and panics when called.
#[proc_macro_attribute]
pub fn gpu_only(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let ItemFn { attrs, vis, sig, block } = parse_macro_input!(item as ItemFn);
    let message = format!("`{}` runs on the GPU only", sig.ident);
    let mut host = sig.clone();
    for argument in &mut host.inputs {
        if let FnArg::Typed(argument) = argument {
            *argument.pat = Pat::Wild(syn::PatWild { attrs: vec![], underscore_token: Default::default() });
        }
    }
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)* #vis #sig #block
        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)* #vis #host { unimplemented!(#message) }
    }
    .into()
}

fn expand(result: syn::Result<Tokens>) -> TokenStream {
    result.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// `#[launch_bounds(max_threads, min_blocks)]`.
struct LaunchBounds {
    max_threads: Expr,
    min_blocks: Option<Expr>,
}

impl Parse for LaunchBounds {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut bounds = Punctuated::<Expr, Token![,]>::parse_terminated(input)?.into_iter();
        match (bounds.next(), bounds.next(), bounds.next()) {
            (Some(max_threads), min_blocks, None) => Ok(Self { max_threads, min_blocks }),
            _ => Err(input.error("expected `launch_bounds(MAX_THREADS)` or `launch_bounds(MAX_THREADS, MIN_BLOCKS)`")),
        }
    }
}

fn expand_kernel(mut function: ItemFn) -> syn::Result<Tokens> {
    let signature = &function.sig;
    if signature.unsafety.is_none() {
        return Err(Error::new_spanned(
            signature,
            "a kernel is an `unsafe fn`: nothing checks what it is launched with",
        ));
    }
    if !matches!(signature.output, ReturnType::Default) {
        return Err(Error::new_spanned(&signature.output, "a kernel returns nothing"));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(&signature.generics, "a kernel cannot be generic: it is an entry point"));
    }
    let bounds = take_launch_bounds(&mut function)?;

    let ItemFn { attrs, vis, sig, block } = function;
    let name = &sig.ident;
    let (parameters, slices) = flatten_slices(sig.inputs)?;
    let bounds = bounds.map(|LaunchBounds { max_threads, min_blocks }| {
        let section = format!(".launch_bounds.{name}");
        let min_blocks = min_blocks.map_or(quote!(0), |expression| quote!(#expression));
        quote! {
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #[used]
                #[unsafe(link_section = #section)]
                static LAUNCH_BOUNDS: [u32; 2] = [#max_threads, #min_blocks];
            };
        }
    });
    Ok(quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        #vis unsafe extern "ptx-kernel" fn #name(#(#parameters),*) { #(#slices)* #block }

        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments)]
        #vis unsafe fn #name(#(#parameters),*) { #(#slices)* #block }

        #bounds
    })
}

fn take_launch_bounds(function: &mut ItemFn) -> syn::Result<Option<LaunchBounds>> {
    let Some(index) = function.attrs.iter().position(|attribute| attribute.path().is_ident("launch_bounds")) else {
        return Ok(None);
    };
    function.attrs.remove(index).parse_args().map(Some)
}

/// Replaces each slice parameter by a pointer and a length, and returns the statements that put the slice together again.
fn flatten_slices(inputs: Punctuated<FnArg, Token![,]>) -> syn::Result<(Vec<Tokens>, Vec<Tokens>)> {
    let (mut parameters, mut slices) = (vec![], vec![]);
    for input in inputs {
        let FnArg::Typed(argument) = input else {
            return Err(Error::new_spanned(input, "a kernel is a free function"));
        };
        let (Type::Reference(reference), Pat::Ident(pattern)) = (&*argument.ty, &*argument.pat) else {
            parameters.push(quote!(#argument));
            continue;
        };
        let Type::Slice(slice) = &*reference.elem else {
            parameters.push(quote!(#argument));
            continue;
        };
        let (name, element) = (&pattern.ident, &slice.elem);
        let (pointer, length) = (format_ident!("{name}_pointer"), format_ident!("{name}_length"));
        if reference.mutability.is_some() {
            parameters.push(quote!(#pointer: *mut #element, #length: usize));
            slices.push(quote! {
                // SAFETY: whoever launches the kernel passes the pointer and the length of one device buffer.
                let #pattern = unsafe { ::core::slice::from_raw_parts_mut(#pointer, #length) };
            });
        } else {
            parameters.push(quote!(#pointer: *const #element, #length: usize));
            slices.push(quote! {
                // SAFETY: whoever launches the kernel passes the pointer and the length of one device buffer.
                let #pattern = unsafe { ::core::slice::from_raw_parts(#pointer, #length) };
            });
        }
    }
    Ok((parameters, slices))
}
