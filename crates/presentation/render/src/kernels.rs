//! Kernels that guests can boot.

use crate::prose::wrapped;
use crate::table::Columns;

/// One of Debian's kernels on a mirror.
pub struct KernelRow {
    /// The suite of Debian that has it.
    pub suite: String,
    /// Its kind, such as `rt`.
    pub kind: String,
    /// What to type for it.
    pub asked: String,
    /// As `uname -r` will print it.
    pub release: String,
    /// The package of its image.
    pub package: String,
    /// Whether it has been fetched.
    pub kept: bool,
}

/// A row for each, and how one is chosen.
pub fn kernel_list(kernels: &[KernelRow], width: usize) -> String {
    let headings = ["suite", "kind", "--kernel", "release", "package", "kept here"].map(str::to_owned);
    let mut table = Columns::new(&headings, 3);
    (3..headings.len()).for_each(|column| table.left(column));
    for one in kernels {
        let kept = if one.kept { "yes" } else { "" };
        let cells = [&one.suite, &one.kind, &one.asked, &one.release, &one.package, kept];
        table.row(cells.map(|cell| cell.to_owned()).to_vec());
    }
    let text = "A suite means its newest kernel: `--kernel debian:backports`, or a flavour, \
                `--kernel debian:backports:rt`.";
    format!("{}\n{}\n", table.text(width), wrapped(text, width, 0))
}
