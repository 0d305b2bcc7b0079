//! Checks of all tests of ranks.

use kyoho_core::{Error, Result, ResultCode};

/// Checks that all ranks have the same error of one rank.
pub fn require_same_error(errors: &[Result<()>], rank: usize, code: ResultCode, words: &str) {
    for error in errors {
        let error = error.as_ref().expect_err("all ranks fail");
        assert!(matches!(error, Error::OfRank { rank: of, .. } if *of == rank), "{error}");
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}
