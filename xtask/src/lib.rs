//! What the developer's commands share with those of `lab/`.

pub mod cross;
pub mod packages;
