use super::*;

const SIZES: [u32; 3] = [60, 70, 80];

fn operands(inputs: Inputs) -> Operands {
    let [m, n, k] = SIZES;
    inputs.operands(&Problem::new(m, n, k).unwrap().with_seed(3)).unwrap()
}

/// Elements of A, row by row.
fn elements(matrix: &Matrix) -> Vec<f32> {
    (0..matrix.rows()).flat_map(|i| matrix.row(i).to_vec()).collect()
}

fn exponents(elements: &[f32]) -> (i32, i32) {
    let all = || elements.iter().map(|x| x.abs().log2().floor() as i32);
    (all().min().unwrap(), all().max().unwrap())
}

/// The sum over p of a row of A times a column of B, and of the products' magnitudes.
fn sums(operands: &Operands, i: usize, j: usize) -> (f64, f64) {
    let products = (0..operands.a.columns()).map(|p| f64::from(operands.a.get(i, p)) * f64::from(operands.b.get(p, j)));
    products.fold((0.0, 0.0), |(sum, magnitude), product| (sum + product, magnitude + product.abs()))
}

#[test]
fn the_seed_decides() {
    for inputs in Inputs::ALL {
        let (one, same) = (operands(inputs), operands(inputs));
        assert_eq!((one.a.first_difference(&same.a), one.b.first_difference(&same.b)), (None, None));
        let other = inputs.operands(&Problem::new(60, 70, 80).unwrap().with_seed(4)).unwrap();
        assert!(one.a.first_difference(&other.a).is_some(), "{}", inputs.name());
        assert_eq!((one.a.damage(), one.b.damage()), (None, None));
        assert!(one.c.get(0, 0).is_nan());
    }
}

#[test]
fn elements_are_finite_and_products_too() {
    for inputs in Inputs::ALL {
        let Operands { a, b, .. } = operands(inputs);
        let largest = |matrix: &Matrix| elements(matrix).into_iter().map(f32::abs).fold(0.0, f32::max);
        let most = f64::from(largest(&a)) * f64::from(largest(&b)) * 65536.0;
        assert!(most < f64::from(f32::MAX), "{}: {most:e}", inputs.name());
    }
}

#[test]
fn names_are_found() {
    for inputs in Inputs::ALL {
        assert_eq!(Inputs::find(inputs.name()), Some(inputs));
    }
    assert_eq!(Inputs::find("gaussian"), None);
}

#[test]
fn normal_elements_have_mean_0_and_variance_1() {
    let Operands { a, b, .. } = operands(Inputs::Normal);
    for matrix in [a, b] {
        let elements = elements(&matrix);
        let mean = |power: i32| elements.iter().map(|x| f64::from(x.powi(power))).sum::<f64>() / elements.len() as f64;
        assert!(mean(1).abs() < 0.06 && (mean(2) - 1.0).abs() < 0.1 && (mean(4) - 3.0).abs() < 0.8);
    }
}

#[test]
fn ranges_are_those_of_the_definitions() {
    assert!(elements(&operands(Inputs::Uniform).a).iter().all(|x| (-1.0..1.0).contains(x)));
    assert!(elements(&operands(Inputs::Positive).b).iter().all(|x| (0.0..1.0).contains(x)));
    let (low, high) = exponents(&elements(&operands(Inputs::Spread10).a));
    assert!((-24..=-11).contains(&low) && (9..=12).contains(&high), "{low}..{high}");
    let (low, high) = exponents(&elements(&operands(Inputs::Spread40).b));
    assert!((-54..=-38).contains(&low) && (38..=42).contains(&high), "{low}..{high}");
}

#[test]
fn rows_are_graded() {
    let (normal, Operands { a, b, .. }) = (operands(Inputs::Normal), operands(Inputs::GradedRows));
    for i in [0, 59, 20, 58] {
        let factor = (30.0 - (i as f32 * 60.0 / 59.0).floor()).exp2();
        assert_eq!(a.get(i, 5), normal.a.get(i, 5) * factor);
    }
    assert_eq!(b.first_difference(&normal.b), None);
}

#[test]
fn one_element_is_huge() {
    let normal = operands(Inputs::Normal);
    // Where it is, of each row or column.
    let largest = |inputs| {
        let Operands { a, b, .. } = operands(inputs);
        let is_huge = |old: f32, new: f32| new == old * 1_048_576.0;
        let only = |mut found: Vec<usize>| found.pop().filter(|_| found.is_empty());
        let in_row = |i| only((0..80).filter(|&p| is_huge(normal.a.get(i, p), a.get(i, p))).collect());
        let in_column = |j| only((0..80).filter(|&p| is_huge(normal.b.get(p, j), b.get(p, j))).collect());
        ((0..60).map(in_row).collect::<Vec<_>>(), (0..70).map(in_column).collect::<Vec<_>>())
    };
    let (rows, columns) = largest(Inputs::HugeElements);
    assert!(rows.iter().all(Option::is_some) && columns.iter().all(Option::is_none));
    let (rows, columns) = largest(Inputs::HugeOpposed);
    assert!(rows.iter().all(|at| at.unwrap() < 40) && columns.iter().all(|at| at.unwrap() >= 40));
}

#[test]
fn sums_nearly_cancel() {
    let operands = operands(Inputs::NearCancelling);
    for (i, j) in [(0, 0), (59, 69), (30, 7)] {
        let (sum, magnitude) = sums(&operands, i, j);
        assert!(sum != 0.0 && sum.abs() < magnitude / 4096.0, "{sum} of {magnitude}");
    }
    let odd = Inputs::NearCancelling.operands(&Problem::new(3, 4, 7).unwrap()).unwrap();
    assert!((0..3).all(|i| odd.a.get(i, 6) == 0.0 && odd.a.get(i, 5) != 0.0));
}

#[test]
fn grades_oppose_each_other() {
    let (normal, opposed) = (operands(Inputs::Normal), operands(Inputs::OpposedGrades));
    assert_eq!(opposed.a.get(4, 0), normal.a.get(4, 0) / 1024.0);
    assert_eq!(opposed.a.get(4, 79), normal.a.get(4, 79) * 1024.0);
    assert_eq!(opposed.b.get(79, 5), normal.b.get(79, 5) / 1024.0);
    assert_eq!(sums(&normal, 1, 2), sums(&opposed, 1, 2), "products are the same");
}

#[test]
fn empty_and_tiny_problems_are_possible() {
    for inputs in Inputs::ALL {
        for [m, n, k] in [[0, 3, 3], [3, 0, 3], [3, 3, 0], [1, 1, 1], [2, 2, 2]] {
            assert!(inputs.operands(&Problem::new(m, n, k).unwrap()).is_ok());
        }
    }
}
