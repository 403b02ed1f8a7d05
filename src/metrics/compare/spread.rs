//! How sure a number is.

use std::rc::Rc;

/// Standard error, in events, of what shows none or none that differs: Agresti and Coull's of 0 of n.
pub(super) const WORTH: f64 = std::f64::consts::SQRT_2;

/// How far a number may be off by chance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spread {
    /// Standard error of sampling, in the unit of the (normalised) number.
    pub se: f64,
    /// Error that has other reasons: counting, rounding. Part of the whole, not of `draws`.
    pub floor: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
    /// How far each replicate is from the number, in its unit; empty if the error is one over runs.
    pub draws: Rc<[f32]>,
}

impl Spread {
    /// The same with no less error of other reasons than this.
    pub fn at_least(self, floor: f64) -> Spread {
        Spread {
            floor: self.floor.max(floor),
            ..self
        }
    }

    /// The spread of the number times `k`.
    pub fn times(self, k: f64) -> Spread {
        Spread {
            se: self.se * k,
            floor: self.floor * k,
            df: self.df,
            draws: self.draws.iter().map(|d| d * k as f32).collect(),
        }
    }
}

/// The spread, or why there is none.
pub(super) type Sure = Result<Spread, String>;
