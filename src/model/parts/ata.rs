//! The ATA link: queued (NCQ) commands and others (a cache flush) are never in the device together.
//!
//! `ata_std_qc_defer` (drivers/ata/libata-core.c): an NCQ command may run if no other is active, another one only if nothing
//! is. What happens to one that may not is [`Ata`].

use crate::model::policy::Ata;

/// What the device says to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It runs.
    Runs,
    /// libata keeps it, and [`Link::done`] tells when it runs. To the block layer it is issued.
    Parked,
    /// It comes back (D, then R), and the queue run ends.
    Bounced,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Link {
    mode: Ata,
    /// NCQ commands that run.
    queued: u32,
    /// A command that is not NCQ runs.
    single: bool,
    /// The one that is kept.
    parked: Option<u32>,
    /// `device_blocked` of the SCSI device: a command bounced, and none ended since.
    blocked: bool,
}

impl Link {
    /// An idle link.
    pub fn new(mode: Ata) -> Link {
        Link {
            mode,
            queued: 0,
            single: false,
            parked: None,
            blocked: false,
        }
    }

    /// Commands that the device and libata have.
    pub fn outstanding(&self) -> u32 {
        self.queued + u32::from(self.single) + u32::from(self.parked.is_some())
    }

    /// Whether the block layer may issue anything (`scsi_dev_queue_ready`, drivers/scsi/scsi_lib.c): after a bounce not before
    /// a command ends, if there is one. If not it gets no budget: no D, no R. `max_device_blocked` is 1 for ATA.
    pub fn may_issue(&self) -> bool {
        !self.blocked || self.outstanding() == 0
    }

    /// A command is issued. `ncq`: reads and writes; not flushes.
    pub fn issue(&mut self, rq: u32, ncq: bool) -> Answer {
        let fits = if ncq {
            !self.single
        } else {
            self.queued == 0 && !self.single
        };
        if self.mode == Ata::Off || (fits && self.parked.is_none()) {
            self.runs(ncq);
            self.blocked = false;
            return Answer::Runs;
        }
        if self.mode == Ata::Park && !ncq && self.parked.is_none() {
            self.parked = Some(rq);
            return Answer::Parked;
        }
        self.blocked = true;
        Answer::Bounced
    }

    /// A command has ended; the queue may be run again. The parked one, if it runs now.
    pub fn done(&mut self, ncq: bool) -> Option<u32> {
        if ncq || self.mode == Ata::Off {
            self.queued = self.queued.saturating_sub(1);
        } else {
            self.single = false;
        }
        self.blocked = false;
        if self.queued > 0 || self.single {
            return None;
        }
        let rq = self.parked.take()?;
        self.runs(false);
        Some(rq)
    }

    fn runs(&mut self, ncq: bool) {
        if ncq || self.mode == Ata::Off {
            self.queued += 1;
        } else {
            self.single = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_exclusion_everything_runs() {
        let mut l = Link::new(Ata::Off);
        for rq in 0..4 {
            assert_eq!(l.issue(rq, rq % 2 == 0), Answer::Runs);
        }
        assert_eq!(
            (l.outstanding(), l.done(false), l.may_issue()),
            (4, None, true)
        );
    }

    #[test]
    fn a_flush_bounces_once_a_completion_until_the_link_is_idle() {
        let mut l = Link::new(Ata::Bounce);
        for rq in 0..3 {
            assert_eq!(l.issue(rq, true), Answer::Runs);
        }
        for left in [2, 1, 0] {
            assert_eq!(l.issue(9, false), Answer::Bounced);
            assert!(!l.may_issue(), "no storm");
            assert_eq!(l.done(true), None);
            assert_eq!((l.outstanding(), l.may_issue()), (left, true));
        }
        assert_eq!(l.issue(9, false), Answer::Runs);
        assert_eq!(l.issue(4, true), Answer::Bounced);
        assert!(!l.may_issue());
        l.done(false);
        assert_eq!(l.issue(4, true), Answer::Runs);
    }

    #[test]
    fn a_parked_flush_runs_when_the_last_queued_command_ends() {
        let mut l = Link::new(Ata::Park);
        l.issue(0, true);
        l.issue(1, true);
        assert_eq!(l.issue(9, false), Answer::Parked);
        assert_eq!(l.outstanding(), 3);
        assert_eq!(l.issue(2, true), Answer::Bounced, "while it is parked");
        assert_eq!(l.done(true), None);
        assert_eq!(l.issue(2, true), Answer::Bounced);
        assert_eq!(l.done(true), Some(9));
        assert_eq!(l.issue(2, true), Answer::Bounced, "while it runs");
        assert_eq!(l.done(false), None);
        assert_eq!(l.issue(2, true), Answer::Runs);
        let mut idle = Link::new(Ata::Park);
        assert_eq!(idle.issue(0, false), Answer::Runs, "nothing to wait for");
        assert_eq!(idle.issue(1, false), Answer::Parked);
        assert_eq!(idle.issue(2, false), Answer::Bounced, "one is kept");
        assert_eq!(idle.done(false), Some(1));
    }
}
