//! Where text is shown that changes.

/// A place for text that is replaced, such as some lines of a terminal.
pub trait Screen {
    /// Shows `text` where the last one was.
    fn show(&mut self, text: &str);
    /// Removes the text.
    fn clear(&mut self);
    /// Columns to fill.
    fn width(&self) -> usize;
}
