;; UTF-16 units as what stands between the quotes of a JSON text in UTF-8, ordinary ones sixteen at a time. See json-bytes.ts.
;;
;; Memory: for each ASCII character what its escape has behind the backslash, 0 without one (128 u8); the units; the bytes.
(module
  (memory (export "memory") 2)

  (func $hex (param $to i32) (param $digit i32)
    (i32.store8 (local.get $to)
      (i32.add (local.get $digit)
        (select (i32.const 48) (i32.const 87) (i32.lt_u (local.get $digit) (i32.const 10))))))

  ;; A unit that is no character of its own, or none that JSON may hold; returns where its escape ends.
  (func $number (param $to i32) (param $unit i32) (result i32)
    (i32.store16 (local.get $to) (i32.const 0x755c))
    (call $hex (i32.add (local.get $to) (i32.const 2)) (i32.shr_u (local.get $unit) (i32.const 12)))
    (call $hex (i32.add (local.get $to) (i32.const 3))
      (i32.and (i32.shr_u (local.get $unit) (i32.const 8)) (i32.const 15)))
    (call $hex (i32.add (local.get $to) (i32.const 4))
      (i32.and (i32.shr_u (local.get $unit) (i32.const 4)) (i32.const 15)))
    (call $hex (i32.add (local.get $to) (i32.const 5)) (i32.and (local.get $unit) (i32.const 15)))
    (i32.add (local.get $to) (i32.const 6)))

  ;; The six bits of a character above `bits`, as a byte behind its first one.
  (func $tail (param $to i32) (param $point i32) (param $bits i32)
    (i32.store8 (local.get $to)
      (i32.or (i32.const 0x80) (i32.and (i32.shr_u (local.get $point) (local.get $bits)) (i32.const 0x3f)))))

  ;; Writes the units from `at` to `end`; returns where their bytes, from `to` on, end. Up to 30 bytes behind the last unit are
  ;; read, and up to 16 behind the last byte are written.
  (func (export "encode") (param $at i32) (param $end i32) (param $to i32) (result i32)
    (local $unit i32) (local $next i32) (local $odd i32) (local $codes v128)
    (block $done
      (loop $parts
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $codes
          (i8x16.narrow_i16x8_u (v128.load (local.get $at)) (v128.load offset=16 (local.get $at))))
        (v128.store (local.get $to) (local.get $codes))
        ;; Units above 127 are so as bytes, too, or 0.
        (local.set $odd
          (i8x16.bitmask
            (v128.or
              (v128.or (local.get $codes) (i8x16.lt_u (local.get $codes) (i8x16.splat (i32.const 32))))
              (v128.or
                (i8x16.eq (local.get $codes) (i8x16.splat (i32.const 34)))
                (i8x16.eq (local.get $codes) (i8x16.splat (i32.const 92)))))))
        (local.set $odd (i32.ctz (i32.or (local.get $odd) (i32.const 0x10000))))
        (local.set $unit (i32.shr_u (i32.sub (local.get $end) (local.get $at)) (i32.const 1)))
        (if (i32.gt_u (local.get $odd) (local.get $unit)) (then (local.set $odd (local.get $unit))))
        (local.set $at (i32.add (local.get $at) (i32.shl (local.get $odd) (i32.const 1))))
        (local.set $to (i32.add (local.get $to) (local.get $odd)))
        (br_if $parts (i32.eq (local.get $odd) (i32.const 16)))
        (loop $odds
          (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
          (local.set $unit (i32.load16_u (local.get $at)))
          (local.set $at (i32.add (local.get $at) (i32.const 2)))
          (if (i32.lt_u (local.get $unit) (i32.const 0x80))
            (then
              (local.set $next (i32.load8_u (local.get $unit)))
              (if (i32.eqz (local.get $next))
                (then
                  (i32.store8 (local.get $to) (local.get $unit))
                  (local.set $to (i32.add (local.get $to) (i32.const 1))))
                (else
                  (if (i32.eq (local.get $next) (i32.const 117))
                    (then (local.set $to (call $number (local.get $to) (local.get $unit))))
                    (else
                      (i32.store8 (local.get $to) (i32.const 92))
                      (i32.store8 offset=1 (local.get $to) (local.get $next))
                      (local.set $to (i32.add (local.get $to) (i32.const 2)))))))
              (br $parts)))
          (if (i32.lt_u (local.get $unit) (i32.const 0x800))
            (then
              (i32.store8 (local.get $to) (i32.or (i32.const 0xc0) (i32.shr_u (local.get $unit) (i32.const 6))))
              (call $tail (i32.add (local.get $to) (i32.const 1)) (local.get $unit) (i32.const 0))
              (local.set $to (i32.add (local.get $to) (i32.const 2)))
              (br $odds)))
          (if (i32.ne (i32.and (local.get $unit) (i32.const 0xf800)) (i32.const 0xd800))
            (then
              (i32.store8 (local.get $to) (i32.or (i32.const 0xe0) (i32.shr_u (local.get $unit) (i32.const 12))))
              (call $tail (i32.add (local.get $to) (i32.const 1)) (local.get $unit) (i32.const 6))
              (call $tail (i32.add (local.get $to) (i32.const 2)) (local.get $unit) (i32.const 0))
              (local.set $to (i32.add (local.get $to) (i32.const 3)))
              (br $odds)))
          ;; Two surrogates are one character.
          (local.set $next (i32.load16_u (local.get $at)))
          (if
            (i32.and
              (i32.and (i32.lt_u (local.get $unit) (i32.const 0xdc00)) (i32.lt_u (local.get $at) (local.get $end)))
              (i32.eq (i32.and (local.get $next) (i32.const 0xfc00)) (i32.const 0xdc00)))
            (then
              (local.set $at (i32.add (local.get $at) (i32.const 2)))
              (local.set $unit
                (i32.add (i32.const 0x10000)
                  (i32.or
                    (i32.shl (i32.and (local.get $unit) (i32.const 0x3ff)) (i32.const 10))
                    (i32.and (local.get $next) (i32.const 0x3ff)))))
              (i32.store8 (local.get $to) (i32.or (i32.const 0xf0) (i32.shr_u (local.get $unit) (i32.const 18))))
              (call $tail (i32.add (local.get $to) (i32.const 1)) (local.get $unit) (i32.const 12))
              (call $tail (i32.add (local.get $to) (i32.const 2)) (local.get $unit) (i32.const 6))
              (call $tail (i32.add (local.get $to) (i32.const 3)) (local.get $unit) (i32.const 0))
              (local.set $to (i32.add (local.get $to) (i32.const 4)))
              (br $odds)))
          (local.set $to (call $number (local.get $to) (local.get $unit)))
          (br $odds))))
    (local.get $to)))
