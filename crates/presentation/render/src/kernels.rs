//! The list of kernels that guests can boot.

use crate::prose::wrapped;
use crate::table::TextTable;

/// A Debian kernel on a mirror.
pub struct KernelRow {
    pub suite: String,
    /// Flavour, such as `rt`.
    pub kind: String,
    /// The value for `--kernel`.
    pub argument: String,
    /// As `uname -r` prints it.
    pub release: String,
    /// Package of the image.
    pub package: String,
    /// Whether it is downloaded.
    pub is_downloaded: bool,
}

/// One row per kernel, and how to choose one.
pub fn kernel_list(kernels: &[KernelRow], width: usize) -> String {
    let headings = ["suite", "kind", "--kernel", "release", "package", "kept here"].map(str::to_owned);
    let mut table = TextTable::new(&headings, 3);
    (3..headings.len()).for_each(|column| table.left(column));
    for kernel in kernels {
        let downloaded = if kernel.is_downloaded { "yes" } else { "" };
        let cells =
            [&kernel.suite, &kernel.kind, &kernel.argument, &kernel.release, &kernel.package, downloaded];
        table.row(cells.map(|cell| cell.to_owned()).to_vec());
    }
    let text = "A suite means its newest kernel: `--kernel debian:backports`, or a flavour, \
                `--kernel debian:backports:rt`.";
    format!("{}\n{}\n", table.text(width), wrapped(text, width, 0))
}
