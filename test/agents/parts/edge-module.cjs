exports.value = 'from a module'
exports.data = require('./edge-data.json')
