//! Tables of what kernels cost, and what is chosen by them.

use sgemm::select::{Table, choose};
use sgemm::{AccuracyClass, Device, Problem};

use super::run::Target;

static TABLES: Target = Target {
    name: "tables",
    corpora: &["tests/corpus/tables"],
    words: &[
        "device",
        "driver",
        "memory",
        "commit",
        "=",
        "#",
        "naive",
        "autotuned",
        "stream-k",
        "hgemm",
        "yes",
        "no",
        "fp32",
        "fp32-strict",
        "tf32",
        "f16",
        "bf16",
        "inf",
        "-inf",
        "NaN",
        "1e308",
        "5e-324",
        "\t",
        "\n",
        "\r",
        "\u{1b}",
        "é",
    ],
    inputs: 20_000,
    most_bytes: 16 << 20,
    check,
};

fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let table = match Table::parse(&text) {
        Ok(table) => table,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && text.lines().count() == 1, "{text:?}");
            return;
        }
    };
    // What is written is read as it was, but for white space in the header.
    let again = Table::parse(&table.to_text()).unwrap();
    assert_eq!(again.to_text(), table.to_text());
    assert_eq!((&again.costs, &again.entries), (&table.costs, &table.entries));
    let device = Device::new("NVIDIA H200", (9, 0), 132);
    for class in [AccuracyClass::Fp32Strict, AccuracyClass::Tf32] {
        for sizes in [[1, 1, 1], [4096; 3], [1 << 31 >> 1, 3, 70_000]] {
            let problem = Problem::new(sizes[0], sizes[1], sizes[2]).with_accuracy(class);
            // A table may lack the kernels of the class.
            let _ = choose(&table, &device, &problem).unwrap();
        }
    }
}

#[test]
fn any_table_is_read_or_refused() {
    TABLES.run();
}
