// Values of registers and memory as text.

/** How values can be shown. */
const FORMATS = { auto: 'as the instruction', f32: 'f32', s32: 's32', u32: 'u32', hex: 'hexadecimal' };

const pen = new DataView(new ArrayBuffer(8));

function float32(bits) {
    pen.setUint32(0, Number(bits & 0xffffffffn));
    return shortFloat(pen.getFloat32(0));
}

function float64(bits) {
    pen.setBigUint64(0, bits);
    return shortFloat(pen.getFloat64(0));
}

function float16(bits) {
    const [sign, exponent, fraction] = [Number(bits >> 15n) & 1, Number(bits >> 10n) & 31, Number(bits) & 1023];
    const magnitude =
        exponent === 31 ? (fraction ? NaN : Infinity)
        : exponent === 0 ? fraction * 2 ** -24
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
    return shortFloat(sign ? -magnitude : magnitude);
}

function shortFloat(value) {
    if (Number.isNaN(value)) return 'NaN';
    if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
    const text = String(Number(value.toPrecision(4)));
    return Object.is(value, -0) ? '-0' : text;
}

/** The type that an instruction gives its registers: the last of its suffixes that is one. */
function typeOf(instruction, register) {
    if (register === 'pred') return 'pred';
    const bits = Number(/\d+$/.exec(register)?.[0] ?? 0);
    const types = instruction.split('.').filter((part) => /^(f16x2|f32x2|bf16x2|[usbf]\d+|bf16|tf32)$/.test(part));
    const fitting = types.reverse().find((type) => Number(/\d+/.exec(type.replace(/x2$/, ''))[0]) === bits);
    return fitting ?? register;
}

/** Bits whose type nobody says: small ones are numbers; of 32 bits, those that would be floats of usual size are taken for floats. */
function untyped(bits, digits) {
    if (bits < 65536n) return bits.toString();
    if (digits.length > 8) return `0x${digits}`;
    if (bits > 0xffff0000n) return BigInt.asIntN(32, bits).toString();
    const exponent = Number((bits >> 23n) & 255n);
    return exponent > 96 && exponent < 160 ? float32(bits) : `0x${digits}`;
}

/** A value, given by the hexadecimal digits of its bits; of no value, a dash. */
function valueText(digits, type, format) {
    if (digits === null) return '\u2013';
    const bits = BigInt(`0x${digits || '0'}`);
    if (type === 'pred') return bits ? 'true' : 'false';
    const shown = format === 'auto' ? type : format;
    if (shown === 'f32') return float32(bits);
    if (shown === 'f64') return float64(bits);
    if (shown === 'f16' || shown === 'b16') return format === 'hex' || shown === 'b16' ? `0x${digits}` : float16(bits);
    if (shown === 's32') return BigInt.asIntN(32, bits).toString();
    if (shown === 's64') return BigInt.asIntN(64, bits).toString();
    if (/^u\d+$/.test(shown)) return bits.toString();
    if (shown === 'hex') return `0x${digits}`;
    return untyped(bits, digits);
}

/** Bytes in memory, given in their order, as one number: `0000803f` is 1 as f32. */
function memoryText(hex, type, format) {
    const size = Math.min(hex.length / 2, /64$/.test(type) ? 8 : /16$/.test(type) ? 2 : 4);
    const parts = hex.match(new RegExp(`.{${2 * size}}`, 'g')) ?? [];
    const numbers = parts.map((part) => valueText(part.match(/../g).reverse().join('').replace(/^0+(?=.)/, ''), type, format));
    return numbers.join(' ');
}
