//! The fast scanner against the grammar, on lines near the usual ones and on any bytes.

use super::tests::{USUAL, adapted};
use super::*;
use proptest::prelude::*;

/// Lines near the usual ones: columns of random width and content, then a few bytes changed.
fn near_lines() -> impl Strategy<Value = Vec<u8>> {
    let pad = "[ ]{0,3}";
    let num = prop_oneof!["[0-9]{1,3}", "[0-9]{1,21}"];
    let act = "(Q|G|I|D|C|M|P|U|UT|A|X|F|R|B|S|m|K)";
    let tail = prop_oneof![
        (num.clone(), num.clone(), "[a-z\\]\\[ #/]{0,20}")
            .prop_map(|(s, n, c)| format!("{s} + {n} [{c}]")),
        (num.clone(), num.clone(), num.clone()).prop_map(|(s, n, e)| format!("{s} + {n} [{e}]")),
        (num.clone(), num.clone(), "[0-9]{1,6}")
            .prop_map(|(s, n, m)| format!("{s} + {n} <- ({m},0) {s}")),
        ("[a-z\\]\\[ ]{0,17}", num.clone()).prop_map(|(c, d)| format!("[{c}] {d}")),
        ("[a-z\\]\\[ ]{0,17}").prop_map(|c| format!("[{c}]")),
        (num.clone(), num.clone()).prop_map(|(s, n)| format!("{s} / {n} [x]")),
        (num.clone(), num.clone()).prop_map(|(s, e)| format!("{s} [{e}]")),
    ];
    let head = (
        pad,
        "[0-9]{1,5},[0-9]{1,8}",
        "[0-9]{1,6}",
        "[0-9]{1,20}",
        "[0-9]{1,11}\\.[0-9]{1,10}",
        num,
    );
    let text =
        (head, act, "[A-Za-z]{0,9}", tail).prop_map(|((p, dev, cpu, seq, t, pid), a, rw, tail)| {
            format!("{p}{dev}   {cpu} {seq}  {t} {pid}  {a} {rw} {tail}").into_bytes()
        });
    (
        text,
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    )
        .prop_map(|(mut text, changes)| {
            for (at, byte) in changes {
                let at = at.index(text.len());
                text[at] = byte;
            }
            text
        })
}

/// Lines in blkparse's own columns, with numbers that fit and numbers that do not, and a few bytes changed.
fn columns() -> impl Strategy<Value = Vec<u8>> {
    let wide = |bits: u32| (0..=bits).prop_flat_map(|b| 0..=(u64::MAX >> (63 - b)) >> 1);
    let head = (
        (0..5000u32, 0..2000u32, 0..200u32),
        wide(36),
        (wide(22), 0..1_100_000_000u32),
        wide(22),
    );
    let words = (
        "[QGIDCMFRPAUTX ]{1,2}",
        "[A-Z]{0,4}",
        wide(60),
        wide(20),
        "\\[[ -~]{0,16}\\]( 3)?",
    );
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2);
    (head, words, changes).prop_map(|(head, words, changes)| {
        let ((major, minor, cpu), seq, (secs, ns), pid) = head;
        let (act, rwbs, sector, n, tail) = words;
        let text = format!(
            "{major:3},{minor:<3} {cpu:2} {seq:8} {secs:5}.{ns:09} {pid:5} {act:>2} {rwbs:>3} {sector} + {n} {tail}"
        );
        let mut text = text.into_bytes();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
            // At times the whole column of the device.
            if byte < 8 && at < 8 {
                text[..8].fill(byte);
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn what_is_read_by_columns_the_grammar_reads_alike(lines in prop::collection::vec(columns(), 1..4)) {
        let mut recent = Default::default();
        for line in lines {
            if let Some(fields) = fast::line(&line, &mut recent) {
                prop_assert_eq!(Parsed::Event(fields), grammar::line(&line));
            }
        }
    }

    #[test]
    fn what_the_fast_path_reads_the_grammar_reads_alike(line in near_lines()) {
        if let Some(fields) = fast::line(&line, &mut Default::default()) {
            prop_assert_eq!(Parsed::Event(fields), grammar::line(&line));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = adapted(&line, &mut LineCtx::default());
        let _ = Blkparse.sniff(&line);
    }

    #[test]
    fn changed_usual_lines_do_not_make_it_panic(
        i in 0..USUAL.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut line = USUAL[i].as_bytes().to_vec();
        let at = at.index(line.len());
        line[at] = byte;
        line.truncate(cut.index(line.len()) + 1);
        if let Some(fields) = fast::line(&line, &mut Default::default()) {
            prop_assert_eq!(Parsed::Event(fields), grammar::line(&line));
        }
        let _ = adapted(&line, &mut LineCtx::default());
    }
}
