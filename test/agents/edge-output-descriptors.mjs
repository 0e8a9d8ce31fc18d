// Output that does not go through process.stdout. Says the same without Retake.
import fs, { promises as fsp } from 'node:fs'
import { promisify } from 'node:util'

fs.writeSync(1, '0 writeSync\n')
fs.writeSync(1, Buffer.from('..1 part of a buffer\n..'), 2, 19)
fs.writevSync(1, [Buffer.from('2 '), Buffer.from('writevSync\n')])
fs.writeFileSync(1, '3 writeFileSync\n')
fs.appendFileSync(1, Buffer.from('4 appendFileSync\n'))
console.log('5 console', (await promisify(fs.write)(1, '6 write\n')).bytesWritten)
await promisify(fs.writeFile)(1, '7 writeFile\n')
await new Promise((resolve) => fs.writev(1, [Buffer.from('8 writev\n')], resolve))
await new Promise((resolve) =>
  fs.createWriteStream('', { fd: 1, autoClose: false }).end('9 stream\n', resolve),
)
try {
  await fsp.writeFile('/dev/stdout', '13 device\n')
  fs.writeFileSync('/dev/stderr', 'an error\n')
  const fd = fs.openSync('/dev/stdout', 'a')
  fs.writeSync(fd, '14 opened device\n')
  fs.closeSync(fd)
} catch (error) {
  console.log('15 no device', error.code)
}
console.log('16 fstat', fs.fstatSync(1).isFile(), fs.fstatSync(0).isFile())
