//! Durations and times as people write and read them.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// The text is no duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a duration such as 90m, 1h30m, 45s or 75ms")]
pub struct NotADuration;

/// Reads `90m`, `1h 30m`, `45s`, `75ms`, `2d`; never negative.
pub fn duration(text: &str) -> Result<SignedDuration, NotADuration> {
    let mut total = SignedDuration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(NotADuration);
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: i64 = rest[..digits].parse().map_err(|_| NotADuration)?;
        rest = &rest[digits..];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = match &rest[..letters] {
            "ms" => SignedDuration::from_millis(1),
            "s" => SignedDuration::from_secs(1),
            "m" | "min" => SignedDuration::from_mins(1),
            "h" => SignedDuration::from_hours(1),
            "d" => SignedDuration::from_hours(24),
            _ => return Err(NotADuration),
        };
        rest = rest[letters..].trim_start();
        let number = i32::try_from(number).map_err(|_| NotADuration)?;
        total = unit.checked_mul(number).and_then(|part| total.checked_add(part)).ok_or(NotADuration)?;
    }
    Ok(total)
}

/// `14:32:05` where it is the same day as `now` in `zone`, else `2026-11-30 14:32`.
pub fn clock(time: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (time, now) = (time.to_zoned_datetime(zone.clone()), now.to_zoned_datetime(zone.clone()));
    let form = if time.date() == now.date() { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" };
    time.strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_as_people_write_them() {
        let seconds = |text| duration(text).map(|d| d.as_millis());
        assert_eq!(seconds("90m"), Ok(5_400_000));
        assert_eq!(seconds("1h30m"), Ok(5_400_000));
        assert_eq!(seconds("1h 30m"), Ok(5_400_000));
        assert_eq!(seconds("75ms"), Ok(75));
        for bad in ["", "m", "10", "-5m", "5x", "99999999999999h", "5m -1s", "1.5h", "é"] {
            assert_eq!(duration(bad), Err(NotADuration), "{bad}");
        }
    }

    #[test]
    fn the_day_is_named_when_it_is_another() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-12-01T20:00:00Z");
        assert_eq!(clock(at("2026-12-01T14:32:05Z"), now, &TimeZone::UTC), "14:32:05");
        assert_eq!(clock(at("2026-11-30T14:32:05Z"), now, &TimeZone::UTC), "2026-11-30 14:32");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,24}") {
            let _ = duration(&text);
        }
    }
}
