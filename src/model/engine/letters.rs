//! The letters that flush sequences change.

use crate::event::Rwbs;

fn letters(r: Rwbs, drop: impl Fn(usize, u8) -> bool) -> Rwbs {
    let all = r.as_bytes();
    let kept: Vec<u8> = (0..)
        .zip(&all)
        .filter(|(i, b)| !drop(*i, **b))
        .map(|(_, b)| *b)
        .collect();
    Rwbs::new(&kept)
}

/// Without the F before the operation.
pub(super) fn without_preflush(r: Rwbs) -> Rwbs {
    match r.preflush() {
        true => letters(r, |i, _| i == 0),
        false => r,
    }
}

/// Without both F.
pub(super) fn without_flush(r: Rwbs) -> Rwbs {
    let r = without_preflush(r);
    // What is left of F stands behind the operation.
    letters(r, |i, b| i > 0 && b == b'F')
}

/// With the S of a synchronous request behind the operation (`blk_insert_flush` sets REQ_SYNC).
pub(super) fn synchronous(r: Rwbs) -> Rwbs {
    if r.sync() {
        return r;
    }
    let mut l = r.as_bytes();
    // F (FUA) and A stand before S, M behind it.
    let at = l.iter().position(|b| *b == b'M').unwrap_or(l.len());
    l.insert(at, b'S');
    Rwbs::new(&l)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_go_and_the_rest_stays() {
        let r = |s: &str| Rwbs::new(s.as_bytes());
        assert_eq!(without_preflush(r("FWFSM")), r("WFSM"));
        assert_eq!(without_flush(r("FWFSM")), r("WSM"));
        assert_eq!(without_flush(r("WFS")), r("WS"));
        assert_eq!(without_preflush(r("WFS")), r("WFS"));
        assert_eq!(synchronous(r("WM")), r("WSM"));
        assert_eq!(synchronous(r("W")), r("WS"));
        assert_eq!(synchronous(r("WS")), r("WS"));
    }
}
