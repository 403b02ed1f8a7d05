//! Writes records in every form, for tests.

use super::record::{CGROUP, Form, Record};

/// The plain form: version 7, little-endian.
pub(super) const V7: Form = Form::new(false, false);

/// A record with its PDU.
#[derive(Clone, Debug)]
pub(super) struct Written(pub(super) Record, pub(super) Vec<u8>);

/// `BLK_TC_ACT` of some categories.
pub(super) const WRITE: u64 = 1 << 17;
pub(super) const SYNC: u64 = 1 << 19;

/// An event of 8 sectors on 8,0.
pub(super) fn record(action: u64, cpu: u32, sequence: u32, time: u64) -> Written {
    let r = Record {
        sequence,
        time,
        sector: u64::from(sequence) * 8,
        bytes: 4096,
        action,
        pid: 100 + cpu,
        device: 8 << 20,
        cpu,
        error: 0,
        pdu_len: 0,
    };
    Written(r, Vec::new())
}

impl Written {
    /// With a PDU.
    pub(super) fn pdu(mut self, pdu: &[u8]) -> Written {
        self.1 = pdu.to_vec();
        self
    }

    /// With another field.
    pub(super) fn with(mut self, set: impl FnOnce(&mut Record)) -> Written {
        set(&mut self.0);
        self
    }

    /// With the id of a cgroup before its PDU.
    pub(super) fn in_cgroup(mut self) -> Written {
        self.0.action |= CGROUP;
        self.1.splice(..0, 7u64.to_le_bytes());
        self
    }

    /// The bytes in a form.
    pub(super) fn bytes(&self, form: Form) -> Vec<u8> {
        let mut out = Vec::new();
        self.0.write(form, &self.1, &mut out);
        out
    }
}

/// The bytes of many.
pub(super) fn file(all: &[Written], form: Form) -> Vec<u8> {
    all.iter().flat_map(|w| w.bytes(form)).collect()
}

/// The name of a task.
pub(super) fn name(pid: u32, cpu: u32, comm: &[u8]) -> Written {
    let mut pdu = comm.to_vec();
    pdu.resize(16, 0);
    record(super::record::NOTIFY, cpu, 0, 1)
        .with(|r| r.pid = pid)
        .pdu(&pdu)
}

/// The same recording in another form: the numbers inside a clock record follow the order of the file.
pub(super) fn twin(v7: &[u8], form: Form) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = v7;
    while let Some(r) = Record::read(V7, rest) {
        let end = V7.header() + usize::from(r.pdu_len);
        let mut pdu = rest.get(V7.header()..end).unwrap_or_default().to_vec();
        if form.big_endian && r.notify() && r.action & 0xff == 1 {
            pdu.chunks_mut(4).for_each(<[u8]>::reverse);
        }
        out.extend(Written(r, pdu).bytes(form));
        rest = rest.get(end..).unwrap_or_default();
    }
    out
}
