//! Words of a document that stand for a choice of the code: each with what it means, written once for the check, the reference and the
//! reader.

pub type Words<T, const N: usize> = [(&'static str, &'static str, T); N];

/// The words and what they mean, for a declaration.
pub const fn described<T, const N: usize>(words: &Words<T, N>) -> [(&'static str, &'static str); N] {
    let mut described = [("", ""); N];
    let mut i = 0;
    while i < N {
        described[i] = (words[i].0, words[i].1);
        i += 1;
    }
    described
}

/// What a word stands for; `None` if there is none.
pub fn meaning<T: Copy, const N: usize>(words: &Words<T, N>, word: Option<&str>) -> Option<T> {
    words.iter().find(|(name, ..)| Some(*name) == word).map(|(.., meaning)| *meaning)
}

pub fn word_of<T: PartialEq, const N: usize>(words: &Words<T, N>, meaning: T) -> &'static str {
    words.iter().find(|(.., of)| *of == meaning).expect("every choice has its word").0
}
