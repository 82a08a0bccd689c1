//! The size of the static program that people download.

use std::io;

use xtask::cross;

use super::why::limit::{Figure, Limits};

/// Millions of bytes.
const MOST: f64 = 10.0;

/// Builds it into a folder of its own and looks; fails where it is above its limit.
pub fn run() -> io::Result<()> {
    let root = cross::root()?;
    let (_, bytes) = cross::build(cross::native()?, &root, &root.join("target/static"))?;
    let mut limits = Limits::default();
    let value = bytes as f64 / 1e6;
    limits.judge(&Figure { name: "static program", value, interval: None, most: MOST, unit: "MB" });
    limits.verdict()
}
