//! Plan files.

use howlate_plan::PlanFile;

use crate::{Target, corpus};

pub(crate) const TARGET: Target = Target { name: "plan", seeds, body };

fn seeds() -> Vec<Vec<u8>> {
    corpus::folder("plans")
}

fn body(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Err(error) = PlanFile::parse(text) {
        assert!(error.line <= 1 + text.matches('\n').count(), "{error}");
    }
}
