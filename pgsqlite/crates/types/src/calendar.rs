//! Days since 2000-01-01 ⇄ year, month, day of the proleptic Gregorian calendar (years astronomical: 0 is 1 BC).

/// The Julian day number of 2000-01-01.
pub const EPOCH_JULIAN: i32 = 2_451_545;
/// Days from 0000-03-01 to 2000-01-01.
const MARCH_ERA_OFFSET: i64 = 730_425;

/// Days since 2000-01-01 of a date. Months and days beyond their range carry over (day 0 is the day before).
pub fn days(year: i32, month: i32, day: i32) -> i32 {
    days_wide(year as i64, month as i64, day as i64) as i32
}

fn days_wide(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that the leap day is the last day of a year.
    let m = (month - 1).rem_euclid(12);
    let y = year + (month - 1).div_euclid(12) - i64::from(m < 2);
    let month_from_march = (m + 10) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + day_of_year - MARCH_ERA_OFFSET
}

/// Year, month, day of a day number.
pub fn civil(days: i32) -> (i32, i32, i32) {
    let z = days as i64 + MARCH_ERA_OFFSET;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year as i32, month as i32, day as i32)
}

/// The Julian day number that PostgreSQL's formula gives for any years, months and days, as those of an interval, which need not be a date:
/// it rounds towards zero and runs over.
pub fn julian_of_fields(year: i32, month: i32, day: i32) -> i32 {
    let (month, year) =
        if month > 2 { (month + 1, year.wrapping_add(4800)) } else { (month + 13, year.wrapping_add(4799)) };
    let century = year / 100;
    let days = year.wrapping_mul(365).wrapping_sub(32_167);
    let days = days.wrapping_add(year / 4 - century + century / 4);
    days.wrapping_add(7834i32.wrapping_mul(month) / 256).wrapping_add(day)
}

/// Hour, minute, second, microsecond of a time of day.
pub fn clock(micros: i64) -> (i32, i32, i32, i32) {
    let seconds = micros / 1_000_000;
    ((seconds / 3600) as i32, (seconds / 60 % 60) as i32, (seconds % 60) as i32, (micros % 1_000_000) as i32)
}

pub fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        2 => 28 + i32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Whether day numbers of that month can be computed at all: PostgreSQL's limits of the Julian calendar.
pub fn is_valid_year_month(year: i32, month: i32) -> bool {
    (year > -4713 || year == -4713 && month >= 11) && (year < 5_874_898 || year == 5_874_898 && month < 6)
}

/// 0 Sunday … 6 Saturday.
pub fn day_of_week(days: i32) -> i32 {
    (days as i64 + 6).rem_euclid(7) as i32
}

/// 1 … 366.
pub fn day_of_year(year: i32, month: i32, day: i32) -> i32 {
    days(year, month, day) - days(year, 1, 1) + 1
}

/// ISO 8601 week-numbering year and week.
pub fn iso_week(days: i32) -> (i32, i32) {
    // The week belongs to the year of its Thursday.
    let thursday = days - (day_of_week(days) + 6) % 7 + 3;
    let (year, _, _) = civil(thursday);
    (year, (thursday - self::days(year, 1, 1)) / 7 + 1)
}

/// The Monday of an ISO week.
pub fn iso_week_start(year: i32, week: i32) -> i32 {
    let january_4 = days(year, 1, 4);
    january_4 - (day_of_week(january_4) + 6) % 7 + (week - 1) * 7
}
