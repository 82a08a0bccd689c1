//! How much of a result is shown.

/// How much of a result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What was asked for; the rest in a line, or on request.
    Brief,
    /// The same with a row for each CPU, where otherwise those of a condition are one.
    PerCpu,
    /// Everything, with what it rests on.
    Full,
}
