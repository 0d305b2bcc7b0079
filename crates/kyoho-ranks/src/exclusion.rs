//! Sources that sinks of other ranks leave out.
//!
//! A sink finds a source with its index itself if that is in its domain, or came from another one as a
//! body. Others are in cells without their bodies. So each index has a rank that hears which domains
//! have sources and which have sinks with it, and tells those of sources to send them.

use kyoho_core::{Result, memory};
use kyoho_trees::cpu::domain::{DomainForces, RankWords};

use crate::Ranks;

/// The name of indices in errors about memory.
const WHAT: &str = "indices for other ranks";
/// Behind an index: whether there are sources and sinks with it.
const IS_OF_SOURCE: u64 = 1 << 32;
const IS_OF_SINK: u64 = 1 << 33;

/// Returns the rank that hears of an index.
fn hearer(index: u32, size: usize) -> usize {
    ((u64::from(index.wrapping_mul(0x9e37_79b1)) * size as u64) >> 32) as usize
}

/// Returns words for each rank. `rank` returns that of a word.
fn dealt(words: &[u64], size: usize, rank: impl Fn(u64) -> usize) -> Result<RankWords> {
    let mut counts = memory::filled(size, 0, WHAT)?;
    words.iter().for_each(|word| counts[rank(*word)] += 1);
    let mut ends = memory::room(size, WHAT)?;
    let mut begin = 0;
    for count in &counts {
        ends.push(begin);
        begin += count;
    }
    let mut dealt = memory::filled(words.len(), 0, WHAT)?;
    for word in words {
        let end = &mut ends[rank(*word)];
        dealt[*end] = *word;
        *end += 1;
    }
    Ok(RankWords { words: dealt.into(), counts })
}

/// Returns the indices of a domain, each with whether there are sources and sinks with it.
fn indices_of(domain: &dyn DomainForces, size: usize) -> Result<RankWords> {
    let [sources, sinks] = domain.indices();
    let word = |flag: u64| move |index: &i32| u64::from(*index as u32) | flag;
    let words = sources.iter().map(word(IS_OF_SOURCE)).chain(sinks.iter().map(word(IS_OF_SINK)));
    let mut words = memory::collected(words, WHAT)?;
    words.sort_unstable_by_key(|word| *word as u32);
    words.dedup_by(|word, kept| {
        let is_same = *word as u32 == *kept as u32;
        *kept |= if is_same { *word } else { 0 };
        is_same
    });
    dealt(&words, size, |word| hearer(word as u32, size))
}

/// Returns for each rank the indices of its sources that other ranks have sinks with, and these ranks.
fn asked_of(heard: &RankWords) -> Result<RankWords> {
    let size = heard.counts.len();
    let total = heard.words.len();
    let mut table = memory::room(total, WHAT)?;
    for (rank, words) in heard.each().enumerate() {
        table.extend(words.iter().map(|word| (*word as u32, rank, *word)));
    }
    table.sort_unstable();
    let mut asked: Vec<(usize, u64)> = Vec::new();
    for of_index in table.chunk_by(|one, next| one.0 == next.0).filter(|of_index| of_index.len() > 1) {
        let with = |flag: u64| of_index.iter().filter(move |(_, _, word)| word & flag != 0);
        for (index, of_sinks, _) in with(IS_OF_SINK) {
            for (_, of_sources, _) in with(IS_OF_SOURCE).filter(|(_, rank, _)| rank != of_sinks) {
                memory::push(&mut asked, (*of_sources, u64::from(*index) | (*of_sinks as u64) << 32), WHAT)?;
            }
        }
    }
    asked.sort_unstable();
    let mut counts = memory::filled(size, 0, WHAT)?;
    asked.iter().for_each(|(rank, _)| counts[*rank] += 1);
    Ok(RankWords { words: memory::collected(asked.iter().map(|(_, word)| *word), WHAT)?.into(), counts })
}

impl Ranks {
    /// Returns the sources of other domains that sinks of this one leave out and that did not come as
    /// bodies. All ranks call this.
    pub fn sources_left_out(&mut self, domain: &dyn DomainForces) -> Result<RankWords> {
        let size = self.communicator.size();
        let heard = self.swap(indices_of(domain, size))?;
        let asked = self.swap(asked_of(&heard))?;
        drop(heard);
        let of_word = |word: &u64| (*word as u32 as i32, (*word >> 32) as usize);
        let asked = memory::collected(asked.words.iter().map(of_word), WHAT);
        self.swap(asked.and_then(|asked| domain.own_sources(&asked, size)))
    }
}
