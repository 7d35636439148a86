//! Certificates of rows and columns, and how elements are computed by them.

use gpu_kernels::{
    ANY_BF16, CERTIFICATE_BITS, CERTIFIED, Computed, EXACT_BF16, F16_TOP, OF_HI_LO, Open, Uncertified,
    least_certified_sum,
};

#[test]
fn words_say_how_each_element_is_computed() {
    // The certificates are the low bits: the first row has none, the second one of the first column's, the third all, the fourth that of
    // bf16, which the last two columns have, too.
    let word = |exponent: i32, certificates: u32| exponent << CERTIFICATE_BITS | certificates as i32;
    let mut rows = [word(40, 0), word(56, 1), word(0, CERTIFIED), word(0, ANY_BF16)];
    let mut columns = [word(0, 1), word(0, 0), word(0, ANY_BF16 | 2), word(0, ANY_BF16)];
    let uncertified = Uncertified::of(&mut rows, &mut columns);
    assert_eq!(uncertified, Uncertified { by_bf16: 3, in_fp32: 4 + 3 + 1 + 2, ..Uncertified::default() });
    // What the exponents of the largest elements add up to decides whether three bf16 depend on their sums, or may overflow.
    let mut columns =
        [32, 33, 102, 103, 126, 127, 147, 148].map(|sum| word(2 * F16_TOP - sum + 60, ANY_BF16 | EXACT_BF16));
    let uncertified = Uncertified::of(&mut [word(-60, ANY_BF16)], &mut columns);
    assert_eq!(uncertified, Uncertified { by_bf16: 1, by_bf16_or_in_fp32: 5, in_fp32: 2, by_signs: 0 });
    let uncertified = Uncertified::of(&mut [word(-60, CERTIFIED ^ OF_HI_LO)], &mut columns);
    assert_eq!(uncertified, Uncertified { by_bf16: 3, by_bf16_or_in_fp32: 3, in_fp32: 2, by_signs: 0 });
    // The exponents of a row with an infinity, and with the largest finite number.
    let mut rows = [F16_TOP - 128, F16_TOP - 127].map(|exponent| word(exponent, 0));
    let uncertified = Uncertified::of(&mut rows, &mut [word(0, CERTIFIED), word(F16_TOP - 128, 0)]);
    assert_eq!(uncertified, Uncertified { by_signs: 3, in_fp32: 1, ..Uncertified::default() });
}

/// Words of a tile say of each way whether some of its elements are computed so: none is forgotten.
#[test]
fn a_tile_is_open_to_each_way_in_which_an_element_is_computed() {
    const ENDS: [i32; 12] = [-300, 32, 33, 102, 103, 126, 127, 140, 147, 148, 200, 254];
    let certificates = [0, ANY_BF16, EXACT_BF16 | ANY_BF16, 1 | ANY_BF16, CERTIFIED];
    // Certificates and exponents of two elements, which are those of the tile.
    for (one, other) in certificates.into_iter().flat_map(|one| certificates.map(|other| (one, other))) {
        for [first, second] in ENDS.into_iter().flat_map(|first| ENDS.map(|second| [first, second])) {
            let open = Open::of_finite(one | other, one & other, [first.min(second), first.max(second)]);
            for (element, exponents) in [(one, first), (other, second)].into_iter().filter(|it| it.0 & OF_HI_LO == 0) {
                let is_open = match Computed::of_finite(element, exponents) {
                    Computed::ByBf16 => open.by_bf16,
                    Computed::ByBf16OrInFp32 => open.by_bf16 && open.least_sum >= least_certified_sum(exponents),
                    _ => open.in_fp32,
                };
                assert!(is_open, "{element:b} {exponents} of {open:?}");
            }
        }
    }
}
