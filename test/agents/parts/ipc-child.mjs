// The other end of processes.mjs's fork: answers questions until told to stop.
process.on('message', ({ question }) => {
  process.send({ answer: question, random: Math.random(), pid: process.pid })
})
process.send({ answer: 0, ready: true })
