import dgram from 'node:dgram'

/** What the server knows, by type of record. Any other name does not exist. */
const records = {
  1: [Buffer.from([10, 1, 2, 3]), Buffer.from([10, 1, 2, 4])],
  2: [nameBytes('ns.example.test')],
  5: [nameBytes('other.example.test')],
  6: [
    Buffer.concat([
      nameBytes('ns.example.test'),
      nameBytes('root.example.test'),
      Buffer.alloc(20, 1),
    ]),
  ],
  12: [nameBytes('back.example.test')],
  15: [Buffer.concat([Buffer.from([0, 10]), nameBytes('mail.example.test')])],
  16: [Buffer.from('\u0005hello\u0005world', 'latin1')],
  28: [Buffer.from('20010db8000000000000000000000007', 'hex')],
  33: [Buffer.concat([Buffer.from([0, 1, 0, 2, 0x1f, 0x90]), nameBytes('service.example.test')])],
}

function nameBytes(name) {
  return Buffer.concat([
    ...name
      .split('.')
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])
}

/**
 * A name server on the loopback interface, for tests.
 *
 * @returns {Promise<{ address: string, questions: () => number, stop: () => Promise<void> }>}
 */
export async function startDnsServer() {
  const socket = dgram.createSocket('udp4')
  let questions = 0
  socket.on('message', (message, { port, address }) => {
    questions += 1
    // The question ends after its name, a zero byte, and four bytes of type and class.
    const end = message.indexOf(0, 12) + 5
    const question = message.subarray(12, end)
    const type = message.readUInt16BE(end - 4)
    const known = question.includes('example') || type === 12
    const answers = known ? (records[type] ?? []) : []
    const head = Buffer.from(message.subarray(0, 12))
    head.writeUInt16BE(known ? 0x8180 : 0x8183, 2)
    head.writeUInt16BE(answers.length, 6)
    head.writeUInt32BE(0, 8)
    const body = answers.map((data) => {
      const fixed = Buffer.alloc(12)
      fixed.writeUInt16BE(0xc00c, 0)
      fixed.writeUInt16BE(type, 2)
      fixed.writeUInt16BE(1, 4)
      fixed.writeUInt32BE(60, 6)
      fixed.writeUInt16BE(data.length, 10)
      return Buffer.concat([fixed, data])
    })
    socket.send(Buffer.concat([head, question, ...body]), port, address)
  })
  await new Promise((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions: () => questions,
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}
