use super::*;

#[test]
fn sizes_and_layouts_are_checked() {
    let problem = Problem::new(4, 5, 6);
    let rows = Layout::row_major;
    let short = |a, b, c| problem.with_layouts(rows(a), rows(b), rows(c)).validate();
    assert_eq!(short(6, 5, 5), Ok(()));
    for (layouts, name, value, least) in
        [([5, 5, 5], "lda", 5, 6), ([6, 4, 5], "ldb", 4, 5), ([6, 5, 4], "ldc", 4, 5), ([6, 5, 0], "ldc", 0, 5)]
    {
        let [a, b, c] = layouts;
        assert_eq!(short(a, b, c), Err(Error::LeadingDimension { name, value, least }));
    }
    assert_eq!(
        problem.with_d(Layout::column_major(3)).validate(),
        Err(Error::LeadingDimension { name: "ldd", value: 3, least: 4 })
    );
    let most = MAX_SIZE as usize;
    assert_eq!(Problem::new(1, 1, most + 1).validate(), Err(Error::TooLarge { name: "k", value: most + 1, most }));
    assert_eq!(Problem::new(most, 1, 1).validate(), Ok(()));
    let far = problem.with_layouts(rows(usize::MAX / 8), rows(5), rows(5));
    assert_eq!(far.validate(), Err(Error::ExtentOverflow { operand: "A" }));
}

#[test]
fn batches_may_not_write_twice() {
    let problem = Problem::new(4, 5, 6);
    let of = |stride| problem.with_batch(3, [0, 0, stride]).validate();
    assert_eq!(of(20), Ok(()));
    assert_eq!(of(19), Err(Error::BatchStride { operand: "C", stride: 19, elements: 20 }));
    // Between each other's rows.
    let wide = problem.with_layouts(Layout::row_major(6), Layout::row_major(5), Layout::row_major(15));
    assert_eq!(wide.with_batch(3, [0, 0, 5]).validate(), Ok(()));
    assert!(wide.with_batch(4, [0, 0, 5]).validate().is_err() && wide.with_batch(3, [0, 0, 4]).validate().is_err());
    // C may be shared where D is another matrix.
    let apart = problem.with_d(Layout::row_major(5)).with_batch(3, [0, 0, 0]);
    assert_eq!(apart.with_batch_stride_d(20).validate(), Ok(()));
    assert_eq!(apart.validate(), Err(Error::BatchStride { operand: "D", stride: 0, elements: 20 }));
}

#[test]
fn elements_and_classes_go_together() {
    let problem = Problem::new(4, 5, 6);
    let halves = problem.with_elements(Element::F16, Element::F16);
    assert_eq!(halves.validate(), Ok(()));
    assert_eq!(problem.with_elements(Element::Bf16, Element::F32).validate(), Ok(()));
    let (input, output) = (Element::F16, Element::Bf16);
    assert_eq!(problem.with_elements(input, output).validate(), Err(Error::Output { input, output }));
    let class = AccuracyClass::Tf32;
    assert_eq!(halves.with_accuracy(class).validate(), Err(Error::Accuracy { class, input }));
    assert_eq!(problem.with_accuracy(class).validate(), Ok(()));
    for bytes in [0, 2, 12] {
        let refused = Error::BadAlignment { operand: "B", bytes, element: Element::F32 };
        assert_eq!(problem.with_alignment(16, bytes).validate(), Err(refused));
    }
}

#[test]
fn extents_are_those_of_the_whole_batch() {
    let problem = Problem::new(4, 5, 6).with_batch(3, [100, 0, 20]);
    assert_eq!(problem.extents(), Ok([200 + 24, 30, 40 + 20, 40 + 20, 0]));
    let epilogue = Epilogue { bias: Some(BiasPer::Column), ..Epilogue::default() };
    assert_eq!(problem.with_epilogue(epilogue).extents().map(|extents| extents[4]), Ok(5));
    assert_eq!(Problem::new(0, 5, 6).extents(), Ok([0, 30, 0, 0, 0]));
}
