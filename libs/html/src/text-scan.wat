;; What the text nodes of a page are by themselves: `scanNode` of text-scan.ts, sixteen characters at a time.
;;
;; Memory: the bits of every UTF-16 unit (65,536 u16), behind them those of the ASCII characters (128 u8).
(module
  (memory (export "memory") 3)

  ;; HTML's white space, and vertical tabs.
  (func $isWhite (param $unit i32) (result i32)
    (i32.or
      (i32.eq (local.get $unit) (i32.const 32))
      (i32.lt_u (i32.sub (local.get $unit) (i32.const 9)) (i32.const 5))))

  ;; From `ranges` to `end` two i32 for each text: where in the units at `text` it begins and ends. Up to 32 bytes behind a text
  ;; are read. Four i32 for each one go to `results`: characters, words, sentences, and the bits of all units together, with
  ;; 0x10000 where a text is not blank and 0x20000 where it ends a sentence.
  (func (export "scan") (param $ranges i32) (param $end i32) (param $text i32) (param $results i32)
    (local $at i32) (local $to i32) (local $left i32) (local $unit i32) (local $one i32) (local $previous i32)
    (local $bits i32) (local $chars i32) (local $words i32) (local $sentences i32)
    (local $spaces i32) (local $blanks i32) (local $last i32)
    (local $low v128) (local $high v128) (local $codes v128) (local $classes v128) (local $found v128)
    (local $row0 v128) (local $row1 v128) (local $row2 v128) (local $row3 v128)
    (local $row4 v128) (local $row5 v128) (local $row6 v128) (local $row7 v128)
    (local.set $row0 (v128.load offset=131072 (i32.const 0)))
    (local.set $row1 (v128.load offset=131088 (i32.const 0)))
    (local.set $row2 (v128.load offset=131104 (i32.const 0)))
    (local.set $row3 (v128.load offset=131120 (i32.const 0)))
    (local.set $row4 (v128.load offset=131136 (i32.const 0)))
    (local.set $row5 (v128.load offset=131152 (i32.const 0)))
    (local.set $row6 (v128.load offset=131168 (i32.const 0)))
    (local.set $row7 (v128.load offset=131184 (i32.const 0)))
    (block $done
      (loop $texts
        (br_if $done (i32.ge_u (local.get $ranges) (local.get $end)))
        (local.set $at (i32.add (local.get $text) (i32.shl (i32.load (local.get $ranges)) (i32.const 1))))
        (local.set $to (i32.add (local.get $text) (i32.shl (i32.load offset=4 (local.get $ranges)) (i32.const 1))))
        (block $trimmed
          (loop $trim
            (br_if $trimmed (i32.ge_u (local.get $at) (local.get $to)))
            (br_if $trimmed (i32.eqz (call $isWhite (i32.load16_u (local.get $at)))))
            (local.set $at (i32.add (local.get $at) (i32.const 2)))
            (br $trim)))
        (block $trimmed
          (loop $trim
            (br_if $trimmed (i32.ge_u (local.get $at) (local.get $to)))
            (br_if $trimmed (i32.eqz (call $isWhite (i32.load16_u (i32.sub (local.get $to) (i32.const 2))))))
            (local.set $to (i32.sub (local.get $to) (i32.const 2)))
            (br $trim)))
        (local.set $bits (i32.const 0))
        (local.set $chars (i32.const 0))
        (local.set $words (i32.const 0))
        (local.set $sentences (i32.const 0))
        (local.set $previous (i32.const 1))
        (local.set $found (v128.const i32x4 0 0 0 0))
        (block $scanned
          (br_if $scanned (i32.ge_u (local.get $at) (local.get $to)))
          (local.set $bits (i32.const 0x10000))

          ;; The last character that is none between words ends a sentence, or does not.
          (local.set $last (i32.sub (local.get $to) (i32.const 2)))
          (block $ended
            (loop $back
              (local.set $one (i32.load16_u (i32.shl (i32.load16_u (local.get $last)) (i32.const 1))))
              (br_if $ended (i32.le_u (local.get $last) (local.get $at)))
              (br_if $ended (i32.eqz (i32.and (local.get $one) (i32.const 1))))
              (local.set $last (i32.sub (local.get $last) (i32.const 2)))
              (br $back)))
          (if (i32.and (local.get $one) (i32.const 10))
            (then (local.set $bits (i32.const 0x30000))))

          (loop $parts
            (local.set $left (i32.shr_u (i32.sub (local.get $to) (local.get $at)) (i32.const 1)))
            (local.set $low (v128.load (local.get $at)))
            (local.set $high (v128.load offset=16 (local.get $at)))
            (if (i32.lt_u (local.get $left) (i32.const 16))
              (then
                ;; Letters, which are nothing, stand for what is behind the end.
                (local.set $low
                  (v128.bitselect (local.get $low) (v128.const i16x8 97 97 97 97 97 97 97 97)
                    (i16x8.lt_s (v128.const i16x8 0 1 2 3 4 5 6 7) (i16x8.splat (local.get $left)))))
                (local.set $high
                  (v128.bitselect (local.get $high) (v128.const i16x8 97 97 97 97 97 97 97 97)
                    (i16x8.lt_s (v128.const i16x8 8 9 10 11 12 13 14 15) (i16x8.splat (local.get $left))))))
              (else (local.set $left (i32.const 16))))
            (if
              (v128.any_true
                (v128.and
                  (v128.or (local.get $low) (local.get $high))
                  (v128.const i32x4 0xff80ff80 0xff80ff80 0xff80ff80 0xff80ff80)))
              (then
                (local.set $left (i32.add (local.get $at) (i32.shl (local.get $left) (i32.const 1))))
                (loop $units
                  (local.set $unit (i32.load16_u (local.get $at)))
                  (local.set $one (i32.load16_u (i32.shl (local.get $unit) (i32.const 1))))
                  ;; A space behind a space is wide.
                  (local.set $bits
                    (i32.or (local.get $bits)
                      (i32.or (local.get $one)
                        (i32.shr_u
                          (i32.and (i32.and (local.get $one) (local.get $previous)) (i32.const 0x800))
                          (i32.const 7)))))
                  (local.set $words
                    (i32.add (local.get $words)
                      (i32.and
                        (i32.and (local.get $one) (i32.xor (local.get $previous) (i32.const -1)))
                        (i32.const 1))))
                  (local.set $sentences
                    (i32.add (local.get $sentences)
                      (i32.add
                        (i32.and
                          (i32.and (local.get $one) (i32.shr_u (local.get $previous) (i32.const 1)))
                          (i32.const 1))
                        (i32.and (i32.shr_u (local.get $one) (i32.const 3)) (i32.const 1)))))
                  (local.set $chars
                    (i32.add (local.get $chars) (i32.gt_u (local.get $unit) (i32.const 32))))
                  (local.set $previous (local.get $one))
                  (local.set $at (i32.add (local.get $at) (i32.const 2)))
                  (br_if $units (i32.lt_u (local.get $at) (local.get $left)))))
              (else
                (local.set $codes (i8x16.narrow_i16x8_u (local.get $low) (local.get $high)))
                (local.set $classes
                  (v128.or
                    (v128.or
                      (v128.or
                        (i8x16.swizzle (local.get $row0) (local.get $codes))
                        (i8x16.swizzle (local.get $row1)
                          (i8x16.sub (local.get $codes) (i8x16.splat (i32.const 16)))))
                      (v128.or
                        (i8x16.swizzle (local.get $row2)
                          (i8x16.sub (local.get $codes) (i8x16.splat (i32.const 32))))
                        (i8x16.swizzle (local.get $row3)
                          (i8x16.sub (local.get $codes) (i8x16.splat (i32.const 48))))))
                    (v128.or
                      (v128.or
                        (i8x16.swizzle (local.get $row4)
                          (i8x16.sub (local.get $codes) (i8x16.splat (i32.const 64))))
                        (i8x16.swizzle (local.get $row5)
                          (i8x16.sub (local.get $codes) (i8x16.splat (i32.const 80)))))
                      (v128.or
                        (i8x16.swizzle (local.get $row6)
                          (i8x16.sub (local.get $codes) (i8x16.splat (i32.const 96))))
                        (i8x16.swizzle (local.get $row7)
                          (i8x16.sub (local.get $codes) (i8x16.splat (i32.const 112))))))))
                (local.set $found (v128.or (local.get $found) (local.get $classes)))
                (local.set $spaces (i8x16.bitmask (i8x16.shl (local.get $classes) (i32.const 7))))
                (local.set $blanks (i8x16.bitmask (i8x16.eq (local.get $codes) (i8x16.splat (i32.const 32)))))
                (if
                  (i32.and (local.get $blanks)
                    (i32.or
                      (i32.shl (local.get $blanks) (i32.const 1))
                      (i32.and (i32.shr_u (local.get $previous) (i32.const 11)) (i32.const 1))))
                  (then (local.set $bits (i32.or (local.get $bits) (i32.const 16)))))
                (local.set $words
                  (i32.add (local.get $words)
                    (i32.popcnt
                      (i32.and (local.get $spaces)
                        (i32.xor (i32.const -1)
                          (i32.or
                            (i32.shl (local.get $spaces) (i32.const 1))
                            (i32.and (local.get $previous) (i32.const 1))))))))
                (local.set $sentences
                  (i32.add (local.get $sentences)
                    (i32.popcnt
                      (i32.and (local.get $spaces)
                        (i32.or
                          (i32.shl (i8x16.bitmask (i8x16.shl (local.get $classes) (i32.const 6))) (i32.const 1))
                          (i32.and (i32.shr_u (local.get $previous) (i32.const 1)) (i32.const 1)))))))
                (local.set $chars
                  (i32.add (local.get $chars) (i32.sub (local.get $left) (i32.popcnt (local.get $spaces)))))
                (local.set $at (i32.add (local.get $at) (i32.shl (local.get $left) (i32.const 1))))
                (local.set $previous
                  (i32.load16_u
                    (i32.shl (i32.load16_u (i32.sub (local.get $at) (i32.const 2))) (i32.const 1))))))
            (br_if $parts (i32.lt_u (local.get $at) (local.get $to))))
          (local.set $words
            (i32.add (local.get $words)
              (i32.and (i32.xor (local.get $previous) (i32.const -1)) (i32.const 1))))
          (local.set $sentences
            (i32.add (local.get $sentences)
              (i32.and (i32.shr_u (local.get $previous) (i32.const 1)) (i32.const 1))))
          ;; Halves upon halves, until one byte has the bits of all sixteen.
          (local.set $found
            (v128.or (local.get $found)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $found) (local.get $found))))
          (local.set $found
            (v128.or (local.get $found)
              (i8x16.shuffle 4 5 6 7 0 1 2 3 8 9 10 11 12 13 14 15 (local.get $found) (local.get $found))))
          (local.set $one (i32x4.extract_lane 0 (local.get $found)))
          (local.set $one (i32.or (local.get $one) (i32.shr_u (local.get $one) (i32.const 16))))
          (local.set $one (i32.or (local.get $one) (i32.shr_u (local.get $one) (i32.const 8))))
          (local.set $bits (i32.or (local.get $bits) (i32.and (local.get $one) (i32.const 0xff)))))
        (i32.store (local.get $results) (local.get $chars))
        (i32.store offset=4 (local.get $results) (local.get $words))
        (i32.store offset=8 (local.get $results) (local.get $sentences))
        (i32.store offset=12 (local.get $results) (local.get $bits))
        (local.set $ranges (i32.add (local.get $ranges) (i32.const 8)))
        (local.set $results (i32.add (local.get $results) (i32.const 16)))
        (br $texts)))))
