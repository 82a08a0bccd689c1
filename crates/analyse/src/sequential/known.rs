//! What is known of that which a run was to go on until.

use howlate_model::Until;

use super::compared::compared;
use super::found::Found;
use super::of_all::of_all;
use crate::Analysis;

/// Over all conditions; `None` where it was to go on until nothing.
pub fn known(analysis: &Analysis) -> Option<Found> {
    let figure = analysis.header.until?;
    match figure {
        Until::Compared => Some(compared(analysis).unwrap_or_else(|| Found::nothing(figure))),
        Until::Known { .. } | Until::Rare { .. } => {
            let numbered = (0..).zip(analysis.outcomes());
            let of_each =
                numbered.filter_map(|(index, one)| Some(Found { condition: Some(index), ..one.until()? }));
            Some(of_all(figure, of_each))
        }
    }
}
