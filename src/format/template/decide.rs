//! Which action a line of blkparse in the user's formats is of: one, or it is damage.

use super::blkparse_format::Rest;
use super::matching::{self, Captures};
use super::pattern::Pattern;
use super::{Template, raw};
use crate::event::Action;
use crate::format::blkparse;
use crate::format::{Line, LineCtx};

/// The action by whose format a line is printed.
fn printed_as(a: Action) -> Action {
    match a {
        Action::UnplugTimer => Action::Unplug,
        a => a,
    }
}

impl Template {
    /// Whether a form can have printed a line of this action: an action's own format is for no other, and the format of all
    /// is for those without one.
    pub(super) fn serves(&self, p: &Pattern, action: Action) -> bool {
        let owner = printed_as(action);
        match p.only {
            Some(own) => own == owner,
            None => self.blkparse.is_none() || !self.owned(owner),
        }
    }

    fn owned(&self, action: Action) -> bool {
        self.events.iter().any(|p| p.only == Some(action))
    }

    /// The action of a line by one form; `None`: it does not fit.
    fn action_by(&self, p: &Pattern, line: &[u8]) -> Option<Action> {
        let caps = matching::matches(&p.parts, line).ok()?;
        let action = raw(p, &caps).ok()?.action;
        self.serves(p, action).then_some(action)
    }

    /// Whether all forms that a line fits say the same action of it.
    pub(super) fn decided(&self, line: &[u8]) -> bool {
        let mut first: Option<(Action, &Pattern)> = None;
        for p in &self.events {
            let Some(action) = self.action_by(p, line) else {
                continue;
            };
            match first {
                None => first = Some((action, p)),
                Some((other, q)) if other != action => {
                    if self.is_event(q, line) && self.is_event(p, line) {
                        return false;
                    }
                }
                Some(_) => {}
            }
        }
        // Actions without a format come in blkparse's own, which a wide format may take too.
        match (first, self.blkparse) {
            (Some((action, p)), Some(Rest::Default)) => {
                let other = blkparse::action_of(line).filter(|o| *o != action);
                !other.is_some_and(|o| !self.owned(printed_as(o)) && self.is_event(p, line))
            }
            _ => true,
        }
    }

    /// The whole reading, without a trace of it.
    #[cold]
    fn is_event(&self, p: &Pattern, line: &[u8]) -> bool {
        let caps: Option<Captures> = matching::matches(&p.parts, line).ok();
        let mut scratch = LineCtx::default();
        caps.is_some_and(|c| matches!(self.convert(p, &c, &mut scratch), Line::Event(_)))
    }
}
